// SPDX-License-Identifier: Apache-2.0
// Describes how a request passed through the stages: the input and result of each, up to the last stage reached. Text
// from callers or tokens is shortened to one line.

import { providerRules } from "../authorization/explain.js"
import { describeNearMiss } from "../authorization/nearest.js"
import { ruleTitle } from "../authorization/rule-name.js"
import { shown } from "../resources/document-error.js"
import { tokenErrorText } from "../tokens/token-errors.js"
import type { Answer } from "./trial.js"

export interface StageAccount {
  /** `custom` only if a CUSTOM policy applies. */
  readonly stage: "transport" | "path" | "token" | "custom" | "audit" | "deny" | "allow"
  /** `depends`: an external authorizer is asked and may deny the request. */
  readonly outcome: "passed" | "denied" | "depends" | "not reached"
  readonly why: string
}

/** All stages in order. */
export function accountOf(answer: Answer): readonly StageAccount[] {
  const reached = REACHED[answer.stage] ?? 0
  const of = (at: number, stage: StageAccount["stage"], why: string, ends: boolean): StageAccount => {
    if (at > reached) return { stage, outcome: "not reached", why: "" }
    return { stage, outcome: ends ? "denied" : "passed", why }
  }
  const deniedAt = answer.verdict === "deny" ? answer.stage : undefined
  return [
    of(0, "transport", transport(answer), deniedAt === "transport"),
    of(1, "path", path(answer), deniedAt === "path" || deniedAt === "internal"),
    of(2, "token", token(answer), deniedAt === "token"),
    ...(reached < 3 ? [] : custom(answer)),
    of(3, "audit", audit(answer), false),
    of(4, "deny", deny(answer), deniedAt === "deny"),
    of(5, "allow", allow(answer), deniedAt === "allow"),
  ]
}

/** By the stage that decided, which is the last one reached. */
const REACHED: Readonly<Record<string, number>> = {
  transport: 0,
  path: 1,
  internal: 1,
  token: 2,
  deny: 4,
  allow: 5,
  default: 5,
  custom: 5,
}

function transport({ mode, attributes, stage }: Answer): string {
  if (stage === "transport") {
    const wanted =
      mode === "STRICT" ? "accepts only mutual TLS, and the caller has no identity" : "accepts only plaintext"
    return `the mTLS mode is ${mode}: the port ${wanted}`
  }
  const peer = attributes?.peer
  const who = peer === undefined ? "" : `, the peer is ${shown(peer.principal)}`
  return `the mTLS mode is ${mode}${who}`
}

function path({ attributes, stage }: Answer): string {
  if (stage === "path") return "the request path cannot be normalized"
  if (attributes === undefined) return "normalized"
  const { http } = attributes
  if (http === undefined) return "not asked of TCP connections"
  return `${shown(http.method)} ${shown(http.path)} at ${shown(http.host ?? "no host")}`
}

function token({ authentication }: Answer): string {
  if (authentication === undefined) return "not asked of TCP connections"
  const { by } = authentication
  const rule = by === undefined ? "" : ` (${by.policy.namespace}/${by.policy.name} jwtRules[${by.rule}])`
  if (authentication.outcome === "reject") return `${tokenErrorText(authentication.error)}${rule}`
  const verified = authentication.token
  if (verified === undefined) return "no token where a rule looks"
  return `verified: issuer ${shown(verified.issuer ?? "none")}, subject ${shown(verified.subject ?? "none")}${rule}`
}

function custom({ trace }: Answer): readonly StageAccount[] {
  const policies = trace?.policies.filter(({ action, shadow }) => action === "CUSTOM" && !shadow) ?? []
  const [first, ...others] = providerRules(policies)
  if (policies.length === 0) return []
  if (first === undefined) {
    return [{ stage: "custom", outcome: "passed", why: `none of ${policies.length} CUSTOM policies matches` }]
  }
  const why = [first, ...others].map(rule => `${ruleTitle(rule)} asks \`${shown(rule.provider ?? "")}\``).join(", ")
  return [{ stage: "custom", outcome: "depends", why: `${why}, which may deny` }]
}

function audit({ trace }: Answer): string {
  return trace?.audit === undefined ? "not marked" : `marked by ${ruleTitle(trace.audit)}`
}

function deny({ trace, stage }: Answer): string {
  if (stage === "deny" && trace?.rule !== undefined) return `${ruleTitle(trace.rule)} matches`
  const policies = trace?.policies.filter(({ action, shadow }) => action === "DENY" && !shadow) ?? []
  return policies.length === 0 ? "no DENY policy applies" : `none of ${policies.length} DENY policies matches`
}

function allow({ trace, stage, verdict }: Answer): string {
  if (stage === "custom") return allowedBy(trace)
  if (stage === "default") return "no ALLOW policy applies, so requests that are not denied are allowed"
  if (verdict === "allow" && trace?.rule !== undefined) return `${ruleTitle(trace.rule)} matches`
  if (trace?.nearest !== undefined) return describeNearMiss(trace.nearest)
  return "an ALLOW policy applies and none of its rules can match"
}

function allowedBy(trace: Answer["trace"]): string {
  const allows = trace?.policies.filter(({ action, shadow }) => action === "ALLOW" && !shadow) ?? []
  const rule = allows.flatMap(({ rules }) => rules).find(({ matched }) => matched)?.rule
  return rule === undefined ? "no ALLOW policy applies" : `${ruleTitle(rule)} matches`
}

/** The stage that decided, in one line. */
export function reasonOf(answer: Answer): string {
  const settled = answer.stage === "default" ? "allow" : answer.stage === "internal" ? "path" : answer.stage
  const why = accountOf(answer).find(({ stage }) => stage === settled)?.why ?? ""
  const how = answer.status === undefined ? "closed without a reply" : `answered with ${answer.status}`
  if (answer.verdict === "depends") return `depends: ${why}`
  return answer.verdict === "allow" ? `allowed: ${why}` : `${how}: ${why}`
}
