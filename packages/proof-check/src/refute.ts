// SPDX-License-Identifier: Apache-2.0
// Follows a proof that no request solves a problem. A proof is a case split over the values of attributes; each leaf
// names a need that cannot be met any more, or a ban that holds. This program computes itself that the cases cover
// every value.

import type { Problem } from "./problems.js"
import { fields, Invalid, integer, list, spend, text, texts } from "./read.js"
import type { Part, Region } from "./rules.js"
import type { Pattern } from "./text.js"
import { type Condition, classes, doMeet, type Given, holds, isSeveral, readValue, type Value } from "./values.js"

type Needs = Problem["needs"]
type Assigned = ReadonlyMap<string, Value>

/** Nothing is known about a condition whose attribute has no value yet. */
const is = (wanted: boolean, one: Condition, assigned: Assigned): boolean => {
  const value = assigned.get(one.attribute)
  return value !== undefined && holds(one, value) === wanted
}
const canHold = ({ conditions }: Part, assigned: Assigned) => !conditions.some(one => is(false, one, assigned))
export const isCertain = ({ groups }: Region, assigned: Assigned): boolean =>
  groups.every(parts => parts.some(({ conditions }) => conditions.every(one => is(true, one, assigned))))

const sizeOf = ({ groups }: Region): number => groups.reduce((sum, parts) => sum + 1 + (parts.length >> 4), 1)

/** Removes parts that do not count, and regions with a group that has no parts left. */
function narrowed(needs: Needs, counts: (part: Part) => boolean): Needs {
  const narrow = (region: Region): readonly Region[] => {
    spend(sizeOf(region))
    if (region.groups.every(parts => parts.every(counts))) return [region]
    const groups = region.groups.map(parts => parts.filter(counts))
    return groups.some(parts => parts.length === 0) ? [] : [{ ...region, groups }]
  }
  return needs.map(need => need.flatMap(narrow))
}

const conditionsOf = (regions: readonly Region[], attribute: string): readonly Condition[] =>
  regions.flatMap(({ groups }) =>
    groups.flat().flatMap(({ conditions }) => conditions.filter(one => one.attribute === attribute)),
  )

/** The needs, in which `region` replaces `need`. */
const instead = (needs: Needs, need: readonly Region[], region: Region): Needs =>
  needs.map(own => (own === need ? [region] : own))

/** Removes what contradicts a need that leaves no choice: every solution has one of its values. */
function possible(needs: Needs): Needs {
  const musts = new Map<string, (readonly Pattern[])[]>()
  for (const parts of needs.flatMap(need => (need.length === 1 ? (need[0]?.groups ?? []) : []))) {
    for (const { attribute } of parts[0]?.conditions ?? []) {
      const own = parts.map(part => part.conditions.find(one => one.attribute === attribute && !one.negated))
      if (own.includes(undefined) || isSeveral(attribute)) continue
      musts.set(attribute, [...(musts.get(attribute) ?? []), own.flatMap(one => one?.patterns ?? [])])
    }
  }
  const agrees = ({ negated, attribute, patterns }: Condition) =>
    negated || (musts.get(attribute) ?? []).every(must => doMeet(must, patterns))
  return narrowed(needs, part => part.conditions.every(agrees))
}

const MAX_CASES = 64

/**
 * `proof`: `{ covered, nodes }`, or `{ cases, need }`, which proves it for each region of one need. No proof is needed
 * if the needs contradict each other directly, for each region of one of them. `regions`: by label.
 */
export function checkRefuted(
  { needs: all, bans }: Problem,
  proof: unknown,
  given: Given,
  regions: ReadonlyMap<string, Region>,
): void {
  const banned = new Set(bans.map(({ key }) => key))
  const needs = all.map(need => need.filter(({ key }) => !banned.has(key)))
  const isUnmet = (some: Needs) => some.some(need => need.length === 0)
  if (isUnmet(needs)) return
  if (proof === undefined) {
    const isDead = (need: readonly Region[]) => need.every(region => isUnmet(possible(instead(needs, need, region))))
    if (!needs.some(need => need.length <= MAX_CASES && isDead(need))) throw new Invalid("the proof is missing")
    return
  }
  const check = (own: Needs, written: unknown): void =>
    new Refutation({ needs: own, bans }, given, regions).check(written)
  const { cases, need: at, ...whole } = fields(proof, "a proof", ["cases", "need", "covered", "nodes"])
  if (cases === undefined) {
    check(needs, whole)
    return
  }
  const byKey = new Map(Object.entries(fields(cases, "cases")).map(([label, one]) => [regions.get(label)?.key, one]))
  const need = needs[integer(at, "need", 0, needs.length - 1)] ?? []
  for (const region of need) check(instead(needs, need, region), byKey.get(region.key))
}

class Refutation {
  readonly #banned: ReadonlySet<string>
  #nodes: readonly unknown[] = []
  readonly #done = new Map<string, { readonly used: ReadonlySet<Region>; readonly open: string }[]>()

  constructor(
    readonly problem: Problem,
    readonly given: Given,
    readonly regions: ReadonlyMap<string, Region>,
  ) {
    this.#banned = new Set(problem.bans.map(({ key }) => key))
  }

  check(written: unknown): void {
    const { covered, nodes } = fields(written, "a proof", ["covered", "nodes"])
    const without = new Set<string>()
    for (const pair of list(covered, "covered")) {
      const [label = "", ban] = texts(pair, "covered")
      const region = this.regions.get(label)
      if (region === undefined || !this.#covers(this.#ban(ban), region)) throw new Invalid(`nothing covers ${label}`)
      without.add(region.key)
    }
    const needs = this.problem.needs.map(need => {
      const open = need.filter(({ key }) => !without.has(key))
      const always = open.find(({ groups }) => groups.length === 0)
      return always === undefined ? open : [always]
    })
    this.#nodes = list(nodes, "nodes")
    this.#visit(this.#nodes.length - 1, possible(needs), new Map())
  }

  #ban(label: unknown): Region {
    const ban = this.regions.get(text(label, "a ban"))
    if (ban === undefined || !this.#banned.has(ban.key)) throw new Invalid(`${String(label)} is no ban of the problem`)
    return ban
  }

  /**
   * Whether each group of the ban has a part whose conditions each are a condition of the region or hold for every
   * value.
   */
  #covers(ban: Region, { groups }: Region): boolean {
    const own = new Set(
      groups.flatMap(([part, ...others]) => (others.length > 0 ? [] : (part?.conditions ?? []))).map(({ key }) => key),
    )
    const isTotal = (one: Condition) =>
      !(one.negated || isSeveral(one.attribute)) &&
      classes(one.attribute, one.patterns, this.given).every(value => holds(one, value))
    return ban.groups.every(parts =>
      parts.some(({ conditions }) => conditions.every(one => own.has(one.key) || isTotal(one))),
    )
  }

  /**
   * The bans that the proof relies on. INVARIANT: no request solves the needs and avoids those bans with these values.
   */
  #visit(at: number, before: Needs, assigned: Assigned): ReadonlySet<Region> {
    spend(1)
    const needs = narrowed(before, part => canHold(part, assigned))
    const [kind, what, cases, others, ...more] = list(this.#nodes[at], `node ${at}`)
    if (kind === "need" && cases === undefined) {
      if (needs[integer(what, "a need", 0, needs.length - 1)]?.length === 0) return new Set()
      throw new Invalid(`node ${at}: need ${String(what)} can be met`)
    }
    if (kind === "ban" && cases === undefined) {
      const ban = this.#ban(what)
      if (!isCertain(ban, assigned)) throw new Invalid(`node ${at}: not every request of the case lies in ${ban.label}`)
      return new Set([ban])
    }
    if (kind !== "split" || more.length > 0) throw new Invalid(`node ${at} is of a kind that is not known`)
    if (needs.some(need => need.length === 0)) return new Set()
    // If the open parts are the same as at an earlier visit, so is the result.
    const open = (regions: readonly Region[]): string => {
      const partsOf = ({ groups }: Region) => groups.flat().filter(part => canHold(part, assigned))
      const asks = ({ conditions }: Part) => conditions.map(one => (assigned.has(one.attribute) ? "" : "?"))
      return regions.map(region => partsOf(region).map(part => part.id + asks(part).join())).join(";")
    }
    const key = `${at} ${needs.map(open).join(" ")}`
    const earlier = this.#done.get(key) ?? []
    const same = earlier.find(one => {
      spend(1 + one.used.size)
      return open([...one.used]) === one.open
    })
    if (same !== undefined) return same.used
    const used = this.#split(at, text(what, "attribute"), list(cases, "cases"), list(others, "bans"), needs, assigned)
    this.#done.set(key, [...earlier, { used, open: open([...used]) }])
    return used
  }

  #split(
    at: number,
    attribute: string,
    cases: readonly unknown[],
    others: readonly unknown[],
    needs: Needs,
    assigned: Assigned,
  ): ReadonlySet<Region> {
    if (assigned.has(attribute)) throw new Invalid(`node ${at}: \`${attribute}\` has a value already`)
    const fatal = others.map(label => this.#ban(label))
    const used = new Set(fatal)
    const wanting = conditionsOf(needs.flat(), attribute)
    const proved = cases.map(one => {
      const [value, node, ...more] = list(one, "a case")
      if (more.length > 0) throw new Invalid("a case has more than a value and a node")
      const as = readValue(value, attribute)
      const rests = this.#visit(
        integer(node, "the node of a case", 0, at - 1),
        needs,
        new Map(assigned).set(attribute, as),
      )
      for (const ban of rests) used.add(ban)
      const alive = narrowed([[...rests]], part => canHold(part, assigned)).flat()
      return { as, forbidding: conditionsOf(alive, attribute) }
    })
    const isFatal = (value: Value) => fatal.some(ban => isCertain(ban, new Map(assigned).set(attribute, value)))
    // Then the same is true for every larger set of values.
    const lasting = fatal.filter(ban => conditionsOf([ban], attribute).every(one => !one.negated))
    const isDoomed = (value: Value) => lasting.some(ban => isCertain(ban, new Map(assigned).set(attribute, value)))
    for (const value of this.#values(attribute, wanting, conditionsOf([...used], attribute), isDoomed)) {
      // Any solution with this value would also be one with the value of the case, which meets as much and is banned no
      // more.
      const isCovered = proved.some(
        ({ as, forbidding }) =>
          wanting.every(one => holds(one, as) || !holds(one, value)) &&
          forbidding.every(one => holds(one, value) || !holds(one, as)),
      )
      if (!isCovered && !isFatal(value))
        throw new Invalid(`node ${at}: no case covers \`${attribute}\` ${JSON.stringify(value)}`)
    }
    return used
  }

  /** One value for each combination of conditions that can hold. */
  #values(
    attribute: string,
    wanting: readonly Condition[],
    forbidding: readonly Condition[],
    isDoomed: (value: Value) => boolean,
  ): readonly Value[] {
    const asked = [...new Map([...wanting, ...forbidding].map(one => [one.key, one])).values()]
    const all = classes(
      attribute,
      asked.flatMap(({ patterns }) => patterns),
      this.given,
    )
    if (!isSeveral(attribute)) return all
    // In a multi-valued attribute only helpful values count: any other meets no need and avoids no ban.
    const helpful = [...wanting.filter(one => !one.negated), ...forbidding.filter(one => one.negated)]
    const sets: (readonly string[])[] = [[]]
    const seen = new Set<string>()
    for (const value of all) {
      if (typeof value !== "string" || !helpful.some(one => holds(one, [value]) !== one.negated)) continue
      for (const set of [...sets]) {
        const together = [...set, value]
        const key = asked.map(one => holds(one, together)).join()
        if (seen.has(key) || isDoomed(together)) continue
        if (seen.add(key).size > 1 << 14) throw new Invalid("there are too many combinations of values")
        sets.push(together)
      }
    }
    return sets
  }
}
