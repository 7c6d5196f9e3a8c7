// SPDX-License-Identifier: Apache-2.0
// Follows a proof that no request solves a problem. A proof is a case split over the values of attributes; each leaf names a
// need that cannot be met any more, or a ban that holds. That the cases cover every value is computed here, not read.

import type { Problem } from "./problems.js"
import { fields, Invalid, list, text, texts } from "./read.js"
import type { Part, Region } from "./rules.js"
import { type Condition, classes, type Given, holds, isSeveral, marksMeet, type Value } from "./values.js"

type Assigned = ReadonlyMap<string, Value>

const MAX_VISITS = 5_000_000

/** True or false where the attribute has a value; else not known. */
function decided(condition: Condition, assigned: Assigned): boolean | undefined {
  const value = assigned.get(condition.attribute)
  return value === undefined ? undefined : holds(condition, value)
}

const canHold = (part: Part, assigned: Assigned): boolean =>
  part.conditions.every(one => decided(one, assigned) !== false)
const mustHold = (part: Part, assigned: Assigned): boolean =>
  part.opaque === "" && part.conditions.every(one => decided(one, assigned) === true)
export const isCertain = ({ groups }: Region, assigned: Assigned): boolean =>
  groups.every(parts => parts.some(part => mustHold(part, assigned)))

/** The region without parts that cannot hold; undefined where a group has none left. */
export function narrowed(region: Region, keep: (part: Part) => boolean): Region | undefined {
  const groups = region.groups.map(parts => parts.filter(keep))
  return groups.some(parts => parts.length === 0) ? undefined : { ...region, groups }
}

const marksOf = (conditions: readonly Condition[]) => conditions.flatMap(({ marks }) => marks)
const conditionsOf = (
  regions: readonly Region[],
  attribute: string,
  counts: (part: Part) => boolean = () => true,
): readonly Condition[] =>
  regions.flatMap(({ groups }) =>
    groups.flat().flatMap(part => (counts(part) ? part.conditions.filter(one => one.attribute === attribute) : [])),
  )

/** `proof`: `{ covered, nodes }`, or `{ cases, need }`, which proves it for each region of one need. `regions`: by label. */
export function checkRefuted(
  problem: Problem,
  proof: unknown,
  given: Given,
  regions: ReadonlyMap<string, Region>,
): void {
  const banned = new Set(problem.bans.map(({ key }) => key))
  const needs = problem.needs.map(need => need.filter(({ key }) => !banned.has(key)))
  if (needs.some(need => need.length === 0)) return
  const check = (own: Problem["needs"], written: unknown): void => {
    const { covered, nodes } = fields(written, "a proof", ["covered", "nodes"])
    new Refutation({ needs: own, bans: problem.bans }, given, regions).check(
      list(covered, "covered"),
      list(nodes, "nodes"),
    )
  }
  if (proof === undefined) {
    if (!isPlain(needs)) throw new Invalid("the proof is missing")
    return
  }
  if (!Object.hasOwn(Object(proof), "cases")) {
    check(needs, proof)
    return
  }
  const { cases, need: at } = fields(proof, "a proof", ["cases", "need"])
  const byKey = new Map(Object.entries(Object(cases)).map(([label, one]) => [regions.get(label)?.key, one]))
  const need = needs[Number(at)]
  if (need === undefined) throw new Invalid("the cases are of no need")
  for (const region of need) {
    check(
      needs.map(own => (own === need ? [region] : own)),
      byKey.get(region.key),
    )
  }
}

const MAX_CASES = 64

/** Whether needs contradict each other at first sight, for each region of one of them. */
function isPlain(needs: Problem["needs"]): boolean {
  const isDead = (all: Problem["needs"]) => possible(all).some(need => need.length === 0)
  return needs.some(
    need => need.length <= MAX_CASES && need.every(region => isDead(needs.map(own => (own === need ? [region] : own)))),
  )
}

/** Without what contradicts a need that leaves no choice: one of its values every solution has. */
function possible(needs: readonly (readonly Region[])[]): readonly (readonly Region[])[] {
  const musts: Condition[] = []
  for (const need of needs) {
    for (const parts of need.length === 1 ? (need[0]?.groups ?? []) : []) {
      for (const { attribute } of parts[0]?.conditions ?? []) {
        const own = parts.map(part => part.conditions.find(one => one.attribute === attribute && !one.negated))
        const some = own.flatMap(one => one ?? [])
        if (some.length < parts.length || isSeveral(attribute)) continue
        musts.push({ key: "", attribute, negated: false, marks: marksOf(some) })
      }
    }
  }
  const agrees = (one: Condition) =>
    one.negated ||
    musts.every(must => must.attribute !== one.attribute || must.marks.some(a => one.marks.some(b => marksMeet(a, b))))
  return needs.map(need => need.flatMap(region => narrowed(region, part => part.conditions.every(agrees)) ?? []))
}

class Refutation {
  readonly #banned: ReadonlySet<string>
  #nodes: readonly unknown[] = []
  #visits = 0
  readonly #done = new Map<string, readonly { readonly used: ReadonlySet<Region>; readonly bans: string }[]>()

  constructor(
    readonly problem: Problem,
    readonly given: Given,
    readonly regions: ReadonlyMap<string, Region>,
  ) {
    this.#banned = new Set(problem.bans.map(({ key }) => key))
  }

  check(covered: readonly unknown[], nodes: readonly unknown[]): void {
    const without = new Set<string>()
    for (const pair of covered) {
      const [label = "", ban = ""] = texts(pair, "covered")
      const region = this.regions.get(label)
      if (region === undefined || !this.#covers(this.#ban(ban), region))
        throw new Invalid(`${ban} does not cover ${label}`)
      without.add(region.key)
    }
    const left = this.problem.needs.map(need => {
      const open = need.filter(({ key }) => !without.has(key))
      const always = open.find(({ groups }) => groups.length === 0)
      return always === undefined ? open : [always]
    })
    this.#nodes = nodes
    this.#visit(nodes.length - 1, possible(left), new Map())
  }

  #ban(label: unknown): Region {
    const ban = this.regions.get(text(label, "a ban"))
    if (ban === undefined || !this.#banned.has(ban.key)) throw new Invalid(`${String(label)} is no ban of the problem`)
    return ban
  }

  /** Each group of the ban has a part of which every condition is one of the region, or holds of every value. */
  #covers(ban: Region, { groups }: Region): boolean {
    const own = new Set(
      groups.flatMap(parts => (parts.length === 1 ? (parts[0]?.conditions ?? []) : [])).map(({ key }) => key),
    )
    const follows = (one: Condition) =>
      own.has(one.key) ||
      (!one.negated &&
        !isSeveral(one.attribute) &&
        classes(one.attribute, one.marks, this.given).every(value => holds(one, value)))
    return ban.groups.every(parts => parts.some(part => part.opaque === "" && part.conditions.every(follows)))
  }

  /** The bans on which it rests. INVARIANT: no request solves the needs and avoids those bans with these values. */
  #visit(at: number, before: readonly (readonly Region[])[], assigned: Assigned): ReadonlySet<Region> {
    if (++this.#visits > MAX_VISITS) throw new Invalid("the proof takes too many steps to check")
    const needs = before.map(need => need.flatMap(region => narrowed(region, part => canHold(part, assigned)) ?? []))
    const [kind, what, cases, others, ...more] = list(this.#nodes[at], `node ${at}`)
    if (kind === "need" && cases === undefined) {
      if (needs[Number(what)]?.length === 0) return new Set()
      throw new Invalid(`node ${at}: need ${String(what)} can be met`)
    }
    if (kind === "ban" && cases === undefined) {
      const ban = this.#ban(what)
      if (!isCertain(ban, assigned))
        throw new Invalid(`node ${at}: ${ban.label} does not hold of every request of the case`)
      return new Set([ban])
    }
    if (kind !== "split" || more.length > 0) throw new Invalid(`node ${at} is of a kind that is not known`)
    if (needs.some(need => need.length === 0)) return new Set()
    // Where the same is open as at an earlier visit, the same follows.
    const open = (regions: readonly Region[]) =>
      regions.map(({ groups }) =>
        groups.map(parts =>
          parts.map(part =>
            canHold(part, assigned) ? part.conditions.flatMap(one => (assigned.has(one.attribute) ? [] : one.key)) : 0,
          ),
        ),
      )
    const key = JSON.stringify([at, needs.map(open)])
    const earlier = this.#done.get(key) ?? []
    for (const { used, bans } of earlier) if (JSON.stringify(open([...used])) === bans) return used
    const used = this.#split(at, text(what, "attribute"), list(cases, "cases"), list(others, "bans"), needs, assigned)
    this.#done.set(key, [...earlier, { used, bans: JSON.stringify(open([...used])) }])
    return used
  }

  #split(
    at: number,
    attribute: string,
    cases: readonly unknown[],
    others: readonly unknown[],
    needs: readonly (readonly Region[])[],
    assigned: Assigned,
  ): ReadonlySet<Region> {
    if (assigned.has(attribute)) throw new Invalid(`node ${at}: \`${attribute}\` has a value already`)
    const fatal = others.map(label => this.#ban(label))
    const used = new Set(fatal)
    const wanting = conditionsOf(needs.flat(), attribute)
    const proved = cases.map(one => {
      const [value, node, ...more] = list(one, "a case")
      if (typeof node !== "number" || !(node < at) || more.length > 0)
        throw new Invalid(`node ${at} has a case that is not proved before it`)
      const as = readValue(value, attribute)
      const rests = this.#visit(node, needs, new Map(assigned).set(attribute, as))
      for (const ban of rests) used.add(ban)
      return { as, forbidding: conditionsOf([...rests], attribute, part => canHold(part, assigned)) }
    })
    for (const value of this.#values(attribute, wanting, conditionsOf([...used], attribute), fatal, assigned)) {
      // A solution with this value would be one with the case's, which solves no less and is forbidden no more.
      const isCovered = proved.some(
        ({ as, forbidding }) =>
          wanting.every(one => holds(one, as) || !holds(one, value)) &&
          forbidding.every(one => holds(one, value) || !holds(one, as)),
      )
      const isFatal = () => fatal.some(ban => isCertain(ban, new Map(assigned).set(attribute, value)))
      if (!isCovered && !isFatal())
        throw new Invalid(`node ${at}: no case covers \`${attribute}\` ${JSON.stringify(value)}`)
    }
    return used
  }

  /** One value for every way in which the conditions can hold. */
  #values(
    attribute: string,
    wanting: readonly Condition[],
    forbidding: readonly Condition[],
    fatal: readonly Region[],
    assigned: Assigned,
  ): readonly Value[] {
    const asked = [...wanting, ...forbidding]
    const all = classes(attribute, marksOf(asked), this.given)
    if (!isSeveral(attribute)) return all
    // Of several values only those count that help: any other meets no need, and avoids no ban.
    const helpful = [...wanting.filter(one => !one.negated), ...forbidding.filter(one => one.negated)]
    const sets: (readonly string[])[] = [[]]
    const seen = new Set<string>()
    for (const value of all) {
      if (typeof value !== "string" || !helpful.some(one => holds({ ...one, negated: false }, [value]))) continue
      const isFatal = (ban: Region) =>
        conditionsOf([ban], attribute).every(one => !one.negated) &&
        isCertain(ban, new Map(assigned).set(attribute, [value]))
      if (fatal.some(isFatal)) continue
      for (const set of [...sets]) {
        const key = asked.map(one => holds(one, [...set, value])).join()
        if (seen.has(key)) continue
        if (seen.add(key).size > 1 << 14) throw new Invalid("there are too many combinations of values")
        sets.push([...set, value])
      }
    }
    return sets
  }
}

export function readValue(value: unknown, attribute: string): Value {
  if (value === null || typeof value === "string") return value
  if (Array.isArray(value)) return texts(value, attribute)
  const { issuer, subject, ...more } = value as { readonly [name: string]: unknown }
  const half = (one: unknown) => (one === null ? null : text(one, attribute))
  if (Object.keys(more).length > 0) throw new Invalid(`${attribute} has a value that is not known`)
  return { issuer: half(issuer), subject: half(subject) }
}
