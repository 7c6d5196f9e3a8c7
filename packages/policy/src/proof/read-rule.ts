// SPDX-License-Identifier: Apache-2.0
// Converts a compiled rule into a region of one frame.

import type { Clause } from "../authorization/criterion.js"
import type { Issuers } from "../authorization/request-principal.js"
import type { CompiledRule } from "../authorization/rule.js"
import { hasToken } from "./frame.js"
import { isOpaque, type ReadingContext, readCriterion } from "./read-criterion.js"
import type { LooksAt, ReadRule, RuleRegion } from "./read-rules.js"
import { ruleKey } from "./rule-key.js"
import { type Condition, keyOf, type Part, type Region } from "./search/formula.js"

/** Undefined if nothing in this frame can match the rule. */
export function readRule(rule: CompiledRule, context: ReadingContext): RuleRegion | undefined {
  const { regions } = context.space
  const known = regions.of(rule)
  const reading = readingOf(looksAt(rule, known), context)
  let read = known.read[reading]
  if (read === undefined) {
    const region = regions.shared(ruleKey(rule), reading, () => regionOf(rule, context))
    read = region === undefined ? "nowhere" : { ...region, rule, ref: rule.ref }
    known.read[reading] = read
  }
  return read === "nowhere" ? undefined : read
}

/** The rules of a list that can match in this frame. Frames that the rules cannot distinguish get the same list. */
export function readRules(rules: readonly CompiledRule[], context: ReadingContext): readonly RuleRegion[] {
  const reading = readingOf(EVERYTHING, context)
  const known = context.space.regions.ofList(rules)
  let read = known[reading]
  if (read === undefined) {
    read = rules.flatMap(rule => {
      context.budget?.look()
      return readRule(rule, context) ?? []
    })
    known[reading] = read
  }
  return read
}

const EVERYTHING: LooksAt = { token: true, peer: true, principal: true, view: true }

const OF_PEER: ReadonlySet<string> = new Set(["connection.sni", "request.headers[x-forwarded-client-cert]"])

function looksAt(rule: CompiledRule, known: ReadRule): LooksAt {
  if (known.looks === undefined) {
    const { from, to, when } = rule
    const names = [...from, ...to, when].flatMap(clause => clause.map(({ attribute }) => attribute.name))
    known.looks = {
      token: names.some(name => name.startsWith("request.auth.")),
      peer: names.some(name => name.startsWith("source.") || OF_PEER.has(name)),
      principal: names.includes("request.auth.principal"),
      view: names.some(name => name.startsWith("request.headers[") || name.startsWith("request.auth.")),
    }
  }
  return known.looks
}

/**
 * A small number that identifies how a rule is read. INVARIANT: rules with equal keys, and lists of rules, are read
 * alike in contexts of one space for which this number is equal.
 */
function readingOf(looks: LooksAt, { frame, issuers, space, view }: ReadingContext): number {
  const { token, peer, principal } = looks
  const seen =
    (frame.protocol === "http" ? 1 : 0) +
    (peer ? (frame.identity ? 2 : 4) : 0) +
    (token ? (hasToken(frame) ? 8 : 16) : 0)
  const own = `${principal ? issuersKey(issuers) : ""}\n${looks.view ? view : ""}`
  return own === "\n" ? seen : seen + 32 * (1 + space.regions.numberOf(own))
}

const issuersKeys = new WeakMap<Issuers, string>()

function issuersKey(issuers: Issuers): string {
  let key = issuersKeys.get(issuers)
  if (key === undefined) {
    key = JSON.stringify([...issuers].sort())
    issuersKeys.set(issuers, key)
  }
  return key
}

function regionOf(rule: CompiledRule, context: ReadingContext): Region | undefined {
  const { from, to, when } = rule
  // With at most one alternative there is no choice, and all conditions are one part.
  const single = from.length <= 1 && to.length <= 1
  const lists = single
    ? [[[...from.flat(), ...to.flat(), ...when]]]
    : [from, to, [when]].filter(list => list.length > 0)
  const groups: (readonly Part[])[] = []
  const unread: string[] = []
  for (const clauses of lists) {
    const parts = clauses.flatMap(clause => readClause(clause, context, unread))
    if (parts.length === 0) return undefined
    // An alternative without conditions makes the others superfluous.
    if (!parts.some(({ conditions, opaque }) => conditions.length === 0 && !opaque)) groups.push(parts)
  }
  return { key: keyOf(groups) + unread.join(), groups }
}

/** Empty if the clause cannot match. */
function readClause(clause: Clause, context: ReadingContext, unread: string[]): readonly Part[] {
  const conditions: Condition[] = []
  let opaque = false
  for (const criterion of clause) {
    const read = readCriterion(criterion, context)
    if (read === false) return []
    if (read === true) continue
    if (isOpaque(read)) {
      opaque = true
      const { attribute, negated, values } = criterion
      unread.push(JSON.stringify([attribute.name, negated, values, read.opaque]))
    } else conditions.push(read)
  }
  return [{ conditions, opaque }]
}
