// SPDX-License-Identifier: Apache-2.0
// The traits by which calls are counted separately, without building a text for each request.

import type { RuleRef } from "@merlon/policy/authorization"
import type { Judged } from "../enforcement/verdict.js"
import type { RequestRecord } from "./meters.js"
import { ownText } from "./own-text.js"
import { ruleOf } from "./reason.js"

export const TOO_MANY = "*"
const MAX_METHOD = 24

export type Named = Pick<RuleRef, "policy" | "rule">

/** Besides caller and path: the traits that separate calls in the counts. */
export interface Traits {
  readonly port: number
  readonly method: string
  readonly verdict: string | undefined
  readonly stage: string | undefined
  readonly rule: Named | undefined
  readonly audit: Named | undefined
  readonly shadow: string | undefined
  readonly shadowRule: Named | undefined
  readonly issuer: string | undefined
}

export function keyOf(record: RequestRecord, path: string): string {
  const { port, method, verdict, stage, rule, audit, shadow, shadowRule, issuer } = traitsOf(record)
  const what = record.protocol === "tcp" ? "" : path
  const request = `${record.peer ?? record.source}\n${port}\n${method}\n${what}\n${verdict}\n${stage}`
  return `${request}\n${idOf(rule)}\n${idOf(audit)}\n${shadow}\n${idOf(shadowRule)}\n${issuer}`
}

export function traitsOf({ judgement, method, port }: RequestRecord): Traits {
  const decision = judgement !== undefined && "decision" in judgement ? judgement.decision : undefined
  return {
    port,
    method: ownText(methodOf(method)),
    verdict: judgement?.verdict,
    stage: judgement?.stage,
    rule: judgement && ruleOf(judgement),
    audit: decision?.audit,
    shadow: decision?.shadow?.verdict,
    shadowRule: decision?.shadow?.rule,
    issuer: judgement && issuerOf(judgement),
  }
}

/** Whether `traitsOf` the record would equal these; written out because it runs for every request. */
export function isAlike(known: Traits, { judgement, method, port }: RequestRecord): boolean {
  if (known.port !== port || known.method !== methodOf(method)) return false
  if (judgement === undefined) return known.verdict === undefined
  if (known.verdict !== judgement.verdict || known.stage !== judgement.stage) return false
  if (!isSameRule(known.rule, ruleOf(judgement)) || known.issuer !== issuerOf(judgement)) return false
  const decision = "decision" in judgement ? judgement.decision : undefined
  return (
    isSameRule(known.audit, decision?.audit) &&
    known.shadow === decision?.shadow?.verdict &&
    isSameRule(known.shadowRule, decision?.shadow?.rule)
  )
}

function isSameRule(one: Named | undefined, other: Named | undefined): boolean {
  if (one === other) return true
  if (one === undefined || other === undefined || one.rule !== other.rule) return false
  return one.policy.name === other.policy.name && one.policy.namespace === other.policy.namespace
}

/** Any caller can invent methods, and counts are kept. */
export function methodOf(method: string): string {
  return method.length > MAX_METHOD ? TOO_MANY : method
}

function idOf(rule: Named | undefined): string {
  return rule === undefined ? "" : `${rule.policy.namespace}/${rule.policy.name}/${rule.rule}`
}

/** Only of a verified token: its issuer is one that a current policy names. */
export function issuerOf(judgement: Judged): string | undefined {
  return "attributes" in judgement ? judgement.attributes.token?.issuer : undefined
}
