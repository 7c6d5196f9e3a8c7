// SPDX-License-Identifier: Apache-2.0
// Compares the search on small problems with trying every request: a solution must solve its problem, and no result
// must mean that there is no solution. Many needs share one list of bans, as the rules of one change do, so that the
// ban index is used.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { parseCidr } from "../../request/ip.js"
import { Budget } from "../budget.js"
import { addressDimension, choiceDimension, type Dimension, textDimension, type Value } from "../classes/dimension.js"
import { ANY_TEXT } from "../classes/language.js"
import type { Mark } from "../classes/mark.js"
import { textMark } from "../read-criterion.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { ClassMemo } from "./class-memo.js"
import { type Condition, keyOf, type Part, type Region } from "./formula.js"
import { solve } from "./solve.js"

const TEXTS = ["/a", "/a*", "/ab*", "*b", "/a/{*}", "/a/{**}", "*"]
const BLOCKS = ["10.0.0.0/8", "10.1.0.0/16", "10.1.1.1/32", "0.0.0.0/0", "::/0", "2001:db8::/32"]
const GROUPS = ["a", "b*", "*"]
const PORTS = ["80", "81"]

/** Every text of up to five characters that patterns distinguish, and one that they do not. */
const ALL_TEXTS = ["", "/", "a", "b", "z"].reduce<string[]>(
  all => [...new Set(all.flatMap(text => ["", "/", "a", "b", "z"].map(unit => text + unit)))],
  [""],
)
const SETS = [[], ["a"], ["b"], ["z"], ["a", "b"], ["a", "z"], ["b", "z"], ["a", "b", "z"]]

const expressions: Readonly<Record<string, RegExp>> = {
  "/a": /^\/a$/,
  "/a*": /^\/a.*$/,
  "/ab*": /^\/ab.*$/,
  "*b": /^.*b$/,
  "/a/{*}": /^\/a\/[^/]+$/,
  "/a/{**}": /^\/a\/.*$/,
  "*": /^.+$/,
  a: /^a$/,
  "b*": /^b.*$/,
}
const holdsText = (pattern: string, text: string): boolean => expressions[pattern]?.test(text) ?? false
const blocks: Readonly<Record<string, RegExp>> = {
  "10.0.0.0/8": /^10\./,
  "10.1.0.0/16": /^10\.1\./,
  "10.1.1.1/32": /^10\.1\.1\.1$/,
  "0.0.0.0/0": /^[^:]+$/,
  "::/0": /:/,
  "2001:db8::/32": /^2001:db8:/,
}

interface Axis {
  readonly dimension: Dimension
  readonly written: readonly string[]
  readonly values: readonly Value[]
  mark(written: string): Mark
  bears(written: string, value: Value): boolean
}

const blockMark = (written: string): Mark => {
  const block = parseCidr(written)
  if (block === undefined) throw new Error(written)
  return { kind: "block", key: written, block }
}
const ofText = (test: (value: string) => boolean, value: Value): boolean => typeof value === "string" && test(value)
const path: Axis = {
  dimension: textDimension("path", { language: ANY_TEXT, preferred: ["/", "/a"] }),
  written: TEXTS,
  values: ALL_TEXTS,
  mark: written => textMark(written, "path"),
  bears: (written, value) => ofText(text => holdsText(written, text), value),
}
const address: Axis = {
  dimension: addressDimension("address", ["10.2.0.1", "::2"]),
  written: BLOCKS,
  values: ["10.1.1.1", "10.1.0.1", "10.2.0.1", "9.0.0.1", "2001:db8::1", "::2"],
  mark: blockMark,
  bears: (written, value) => ofText(text => blocks[written]?.test(text) ?? false, value),
}
const port: Axis = {
  dimension: choiceDimension("port", ["80", "81", "82"]),
  written: PORTS,
  values: ["80", "81", "82"],
  mark: written => ({ kind: "choice", key: written }),
  bears: (written, value) => written === value,
}
const groups: Axis = {
  dimension: textDimension("groups", { language: ANY_TEXT }, true),
  written: GROUPS,
  values: SETS,
  mark: written => textMark(written, "wildcard"),
  bears: (written, value) => Array.isArray(value) && value.some(one => holdsText(written, one)),
}
const AXES = [path, address, port, groups]

interface NaiveCondition extends Condition {
  readonly axis: Axis
  readonly written: readonly string[]
}

const condition: fc.Arbitrary<NaiveCondition> = fc.constantFrom(...AXES).chain(axis =>
  fc.tuple(fc.subarray([...axis.written], { minLength: 1, maxLength: 2 }), fc.nat(4)).map(([written, odds]) => ({
    axis,
    written,
    dimension: axis.dimension,
    negated: odds === 0,
    marks: written.map(one => axis.mark(one)),
  })),
)
interface NaivePart extends Part {
  readonly conditions: readonly NaiveCondition[]
}
interface NaiveRegion extends Region {
  readonly groups: readonly (readonly NaivePart[])[]
}
const part: fc.Arbitrary<NaivePart> = fc
  .array(condition, { minLength: 1, maxLength: 3 })
  .map(conditions => ({ conditions, opaque: false }))
const region: fc.Arbitrary<NaiveRegion> = fc
  .array(fc.array(part, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 })
  .map(all => ({ key: keyOf(all), groups: all }))

const lies = ({ groups: all }: NaiveRegion, at: ReadonlyMap<Axis, Value>): boolean =>
  all.every(parts =>
    parts.some(({ conditions }) =>
      conditions.every(({ axis, written, negated }) => written.some(one => axis.bears(one, at.get(axis))) !== negated),
    ),
  )

/** All requests that the problem distinguishes. */
function requests(): readonly ReadonlyMap<Axis, Value>[] {
  let all: readonly ReadonlyMap<Axis, Value>[] = [new Map()]
  for (const axis of AXES) {
    const distinct = new Map(axis.values.map(value => [axis.written.map(one => axis.bears(one, value)).join(), value]))
    all = all.flatMap(request => [...distinct.values()].map(value => new Map([...request, [axis, value]])))
  }
  return all
}

it("finds a solution exactly if there is one", { timeout: 180_000 * inject("effort") }, () => {
  const all = requests()
  const seen = { found: 0, none: 0 }
  assertUntilSeen(
    fc.property(
      fc.array(region, { maxLength: 12 }),
      fc.array(fc.array(region, { minLength: 1, maxLength: 2 }), { minLength: 5, maxLength: 5 }),
      (bans, needs) => {
        const memo = new ClassMemo()
        for (const need of needs) {
          const solution = solve({ needs: [need], bans }, new Budget(), memo)
          const solves = (at: ReadonlyMap<Axis, Value>): boolean =>
            need.some(one => lies(one, at)) && !bans.some(ban => lies(ban, at))
          seen[solution === undefined ? "none" : "found"]++
          if (solution === undefined) expect(all.some(solves)).toBe(false)
          else {
            // A dimension without an assignment may have any value.
            const at = new Map(AXES.map(axis => [axis, solution.get(axis.dimension) ?? axis.values.at(-1)]))
            expect(solves(at)).toBe(true)
          }
        }
      },
    ),
    { numRuns: 150, interruptAfterTimeLimit: 120_000 },
    seen,
    "found",
    "none",
  )
})
