// SPDX-License-Identifier: Apache-2.0
// Describes the region of a change: what the changed rule matches, for which kinds of requests, and the exceptions that
// another rule decides the same way before and after.

import type { CompiledRule } from "../../authorization/rule.js"
import { Budget, Exhausted } from "../budget.js"
import { type Frame, hasTwoTokens } from "../frame.js"
import type { Outcome } from "../outcome.js"
import { isRuleRegion, type RuleRegion } from "../read-rules.js"
import type { Problem } from "../search/formula.js"
import { simplified } from "../search/simplify.js"
import { solve } from "../search/solve.js"
import { describeRule, ruleWords } from "../words.js"

interface Described {
  readonly from: Outcome
  readonly to: Outcome
  readonly anchor: RuleRegion | undefined
  readonly problem: Problem
  readonly frames: readonly Frame[]
}

const MAX_EXCEPTIONS = 3
const MAX_TRIED = 32
const PEER = ["source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain"]

export function describeChange({ anchor, problem, frames }: Described, all: readonly Frame[]): string {
  const tcp = frames.every(({ protocol }) => protocol === "tcp")
  const what =
    anchor === undefined ? `any ${tcp ? "TCP connection" : "request"}` : describeRule(anchor.rule, tcp ? "tcp" : "http")
  return [what, ...kindsOf(frames, all, anchor?.rule), ...exceptionsOf(problem)].join(", ")
}

/** Only what distinguishes these frames from the others and is not already part of the rule. */
export function kindsOf(
  frames: readonly Frame[],
  all: readonly Frame[],
  rule: CompiledRule | undefined,
): readonly string[] {
  const words: string[] = []
  const named = [...(rule?.from ?? []), rule?.when ?? []].flatMap(clause =>
    clause.filter(({ negated }) => !negated).map(({ attribute }) => attribute.name),
  )
  const saysWho = named.some(name => PEER.includes(name))
  const saysToken = named.some(name => name.startsWith("request.auth."))
  const only = (some: (frame: Frame) => boolean) => all.some(frame => !some(frame)) && frames.every(some)
  if (!saysWho && only(({ identity }) => identity)) words.push("over mutual TLS")
  if (only(({ identity }) => !identity)) words.push("in plaintext")
  if (frames.every(hasTwoTokens)) return [...words, "with two tokens"]
  if (saysToken || only(({ protocol }) => protocol === "tcp")) return words
  const http = all.filter(({ protocol }) => protocol === "http")
  const tokens = (some: (frame: Frame) => boolean) => http.some(frame => !some(frame)) && frames.every(some)
  if (tokens(({ token }) => typeof token !== "string")) words.push("with a token")
  else if (tokens(({ token }) => token === "none")) words.push("without a token")
  else if (tokens(({ token }) => token === "preflight")) words.push("as a CORS preflight")
  else if (tokens(({ token }) => typeof token === "string")) words.push("without a token")
  return words
}

/** Rules that exclude some of the problem's solutions. */
export function exceptionsOf(problem: Problem): readonly string[] {
  const bans = (simplified(problem)?.bans ?? []).filter(isRuleRegion)
  const taking = bans.length > MAX_TRIED ? bans : bans.filter(ban => overlaps(problem, ban))
  if (taking.length === 0) return []
  const names = taking.slice(0, MAX_EXCEPTIONS).map(({ ref }) => ruleWords(ref))
  const more = taking.length - names.length
  return [
    `except what ${names.join(" and ")}${more > 0 ? ` and ${more} more` : ""} ${taking.length === 1 ? "matches" : "match"}`,
  ]
}

/** A superfluous exception is only slightly confusing, so an exception is named if it takes too long to check. */
function overlaps({ needs }: Problem, ban: RuleRegion): boolean {
  try {
    return solve({ needs: [...needs, [ban]], bans: [] }, new Budget({ steps: 20_000 })) !== undefined
  } catch (error) {
    if (error instanceof Exhausted) return true
    throw error
  }
}
