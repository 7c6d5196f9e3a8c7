// SPDX-License-Identifier: Apache-2.0
// Bans that many problems share are indexed. Each case is queried often enough for that and must give the same result.

import { expect, test } from "vitest"
import { parseCidr } from "../../request/ip.js"
import { Budget } from "../budget.js"
import { addressDimension, type Dimension, textDimension } from "../classes/dimension.js"
import { ANY_TEXT } from "../classes/language.js"
import { textMark } from "../read-criterion.js"
import { ClassMemo } from "./class-memo.js"
import { type Condition, type Region, region } from "./formula.js"
import { solve } from "./solve.js"

const text = (name: string): Dimension => textDimension(name, { language: ANY_TEXT, preferred: ["/"] })
const [path, method] = [text("path"), text("method")]
const address = addressDimension("address", ["10.0.0.9", "2001:db8::1"])

const is = (dimension: Dimension, ...values: string[]): Condition => ({
  dimension,
  negated: false,
  marks: values.map(value => textMark(value, "path")),
})
const from = (...blocks: string[]): Condition => ({
  dimension: address,
  negated: false,
  marks: blocks.flatMap(written => {
    const block = parseCidr(written)
    return block === undefined ? [] : [{ kind: "block", key: written, block } as const]
  }),
})
const not = (condition: Condition): Condition => ({ ...condition, negated: true })

// More specific than a block, so that the ban is indexed under it.
const LONG = "/a/path/of/some/length"

test.each<[string, Region, readonly Region[], boolean]>([
  ["a ban of a shorter beginning", region(is(path, "/ab*")), [region(is(path, "/a*"))], false],
  ["a ban of a longer beginning", region(is(path, "/a*")), [region(is(path, "/ab*"))], true],
  ["a ban that a template begins", region(is(path, "/a/b")), [region(is(path, "/a/{*}"))], false],
  ["a block around the one that is needed", region(from("10.1.0.0/16")), [region(from("10.0.0.0/8"))], false],
  ["a block beside the one that is needed", region(from("10.1.0.0/16")), [region(from("10.2.0.0/16"))], true],
  ["a ban that asks for more", region(is(path, LONG)), [region(is(path, LONG), from("10.0.0.0/8"))], true],
  [
    "a ban that asks for what all have",
    region(is(path, "/a")),
    [region(is(path, "/a"), from("0.0.0.0/0", "::/0"))],
    false,
  ],
  [
    "a ban that spares what all have",
    region(is(path, "/a")),
    [region(is(path, "/a"), not(from("0.0.0.0/0", "::/0")))],
    true,
  ],
  [
    "bans that take it together",
    region(is(path, "/a*")),
    [region(is(path, "*"), is(method, "/{**}")), region(not(is(method, "*")))],
    false,
  ],
  [
    "a ban whose alternative cannot be followed",
    region(is(path, "/a")),
    [
      {
        key: "opaque",
        groups: [
          [{ conditions: [is(path, "/a")], opaque: false }],
          [
            { conditions: [], opaque: true },
            { conditions: [is(method, "GET")], opaque: false },
          ],
        ],
      },
    ],
    true,
  ],
  ["a ban about something else", region(is(path, "/a")), [region(is(method, "GET"))], true],
])("%s", (_, need, others, solvable) => {
  // Enough other bans that none is found only because it is alone.
  const bans = [...others, ...["x", "y", "z"].map(name => region(is(path, `/${name}/long/*`)))]
  const memo = new ClassMemo()
  for (let time = 0; time < 5; time++) {
    expect(solve({ needs: [[need]], bans }, new Budget(), memo) !== undefined).toBe(solvable)
  }
})
