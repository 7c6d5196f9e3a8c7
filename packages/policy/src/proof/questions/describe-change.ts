// SPDX-License-Identifier: Apache-2.0
// The region of a change in words: what the changed rule says, on which kinds of requests, and what is excepted because
// another rule settles it on both sides.

import type { Frame } from "../frame.js"
import type { Outcome } from "../outcome.js"
import { isRuleRegion, type RuleRegion } from "../read-rule.js"
import type { Problem } from "../search/formula.js"
import { simplified } from "../search/simplify.js"
import { describeRule, ruleName } from "../words.js"

interface Described {
  readonly from: Outcome
  readonly to: Outcome
  readonly anchor: RuleRegion | undefined
  readonly problem: Problem
  readonly frames: readonly Frame[]
}

const MAX_EXCEPTIONS = 3
const PEER = ["source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain"]

export function describeChange({ anchor, problem, frames }: Described, all: readonly Frame[]): string {
  const tcp = frames.every(({ protocol }) => protocol === "tcp")
  const what =
    anchor === undefined ? `any ${tcp ? "TCP connection" : "request"}` : describeRule(anchor.rule, tcp ? "tcp" : "http")
  return [what, ...kinds(frames, all, anchor), ...exceptions(problem)].join(", ")
}

/** Only what sets these frames apart from the others, and only what the rule does not say itself. */
function kinds(frames: readonly Frame[], all: readonly Frame[], anchor: RuleRegion | undefined): readonly string[] {
  const words: string[] = []
  const named = [...(anchor?.rule.from ?? []), anchor?.rule.when ?? []].flatMap(clause =>
    clause.filter(({ negated }) => !negated).map(({ attribute }) => attribute.name),
  )
  const saysWho = named.some(name => PEER.includes(name))
  const saysToken = named.some(name => name.startsWith("request.auth."))
  const only = (some: (frame: Frame) => boolean) => all.some(frame => !some(frame)) && frames.every(some)
  if (!saysWho && only(({ identity }) => identity)) words.push("over mutual TLS")
  if (only(({ identity }) => !identity)) words.push("in plaintext")
  if (saysToken || only(({ protocol }) => protocol === "tcp")) return words
  const http = all.filter(({ protocol }) => protocol === "http")
  const tokens = (some: (frame: Frame) => boolean) => http.some(frame => !some(frame)) && frames.every(some)
  if (tokens(({ token }) => typeof token !== "string")) words.push("with a token")
  else if (tokens(({ token }) => token === "none")) words.push("without a token")
  else if (tokens(({ token }) => token === "preflight")) words.push("as a CORS preflight")
  else if (tokens(({ token }) => typeof token === "string")) words.push("without a token")
  return words
}

function exceptions(problem: Problem): readonly string[] {
  const bans = (simplified(problem)?.bans ?? []).filter(isRuleRegion)
  if (bans.length === 0) return []
  const names = bans.slice(0, MAX_EXCEPTIONS).map(({ ref }) => ruleName(ref))
  const more = bans.length - names.length
  return [
    `except what ${names.join(" and ")}${more > 0 ? ` and ${more} more` : ""} ${bans.length === 1 ? "matches" : "match"}`,
  ]
}
