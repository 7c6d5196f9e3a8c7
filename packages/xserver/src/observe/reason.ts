// SPDX-License-Identifier: Apache-2.0
// The reason for which a request ended as it did, in the wording of logs. Never part of a reply.

import {
  describeNearMiss,
  type PolicyRef,
  type ProviderReport,
  type RuleRef,
  responseDetails,
} from "@merlon/policy/authorization"
import { responseDetail, tokenErrorText } from "@merlon/policy/tokens"
import { messageOf } from "@merlon/xds/runtime"
import type { Judged } from "../enforcement/verdict.js"
import { XSERVER_ERRORS } from "../errors.js"

/** One sentence for the log; undefined for a plain allowance. */
export function reasonOf(judgement: Judged | undefined): string | undefined {
  if (judgement === undefined) return XSERVER_ERRORS.malformed.cause
  if (judgement.verdict === "allow") return "answers" in judgement ? answersText(judgement.answers) : undefined
  switch (judgement.stage) {
    case "transport":
      return judgement.mode === "STRICT"
        ? "the mTLS mode is STRICT, and the caller used plaintext"
        : `the mTLS mode is ${judgement.mode}, and the caller used TLS`
    case "protocol":
      return `${XSERVER_ERRORS[judgement.error].cause}; ${XSERVER_ERRORS[judgement.error].fix}`
    case "revoked":
      return XSERVER_ERRORS.revoked.cause
    case "path":
      return XSERVER_ERRORS.path.cause
    case "internal":
      return `${XSERVER_ERRORS["evaluation-failed"].cause}: ${messageOf(judgement.error)}`
    case "token": {
      const { error, by } = judgement.authentication
      const rule = by === undefined ? "" : ` (${by.policy.namespace}/${by.policy.name} jwtRules[${by.rule}])`
      return `${tokenErrorText(error)}${rule}`
    }
    default: {
      const { rule, policy, nearest } = judgement.decision
      if (judgement.stage === "custom" && rule !== undefined) {
        const ruleText = `${rule.policy.namespace}/${rule.policy.name} rules[${rule.rule}]`
        const answers = "answers" in judgement ? answersText(judgement.answers) : undefined
        return `${answers ?? `provider \`${rule.provider ?? ""}\` was not asked`}; ${ruleText} asks it`
      }
      if (rule !== undefined) return `denied by ${rule.policy.namespace}/${rule.policy.name} rules[${rule.rule}]`
      if (nearest !== undefined) return `no ALLOW rule matches; ${describeNearMiss(nearest)}`
      return policy === undefined
        ? "no ALLOW rule matches"
        : `no ALLOW rule matches; ${policy.namespace}/${policy.name} allows nothing`
    }
  }
}

const OUTCOMES = { allowed: "allowed by", denied: "denied by", failed: "no answer from" } as const

function answersText(answers: readonly ProviderReport[] | undefined): string | undefined {
  return answers
    ?.map(({ outcome, provider, detail }) => `${OUTCOMES[outcome]} provider \`${provider}\`${detail && `: ${detail}`}`)
    .join(", ")
}

/** As proxies of other meshes spell it in `response_code_details`. */
export function detailsOf(judgement: Judged | undefined): string | undefined {
  if (judgement === undefined || judgement.verdict === "allow") return undefined
  if (judgement.stage === "token") return responseDetail(judgement.authentication.error)
  return "decision" in judgement ? responseDetails(judgement.decision) : undefined
}

/** The policy that decided the request, if one did. */
export function policyOf(judgement: Judged | undefined): PolicyRef | undefined {
  // For an ALLOW miss, the nearest policy is not computed here: that costs more than the count is worth.
  return ruleOf(judgement)?.policy
}

/** The rule that decided the request, if one did. */
export function ruleOf(judgement: Judged | undefined): Pick<RuleRef, "policy" | "rule"> | undefined {
  if (judgement === undefined) return undefined
  if (judgement.stage === "token") return judgement.authentication.by
  return "decision" in judgement ? judgement.decision.rule : undefined
}

/** The Shadow policy whose rule would decide differently, if there is one. */
export function shadowPolicyOf(judgement: Judged | undefined): PolicyRef | undefined {
  if (judgement === undefined) return undefined
  if ("authentication" in judgement && judgement.authentication.shadow?.outcome === "reject") {
    return judgement.authentication.shadow.by?.policy
  }
  return "decision" in judgement ? judgement.decision.shadow?.rule?.policy : undefined
}

/** What Shadow policies would have decided, if that differs from the verdict. */
export function shadowOf(judgement: Judged | undefined): string | undefined {
  if (judgement === undefined) return undefined
  const authentication = "authentication" in judgement ? judgement.authentication.shadow : undefined
  if (authentication?.outcome === "reject" && judgement.stage !== "token") {
    return `would be denied: ${authentication.error === undefined ? "token" : tokenErrorText(authentication.error)}`
  }
  const shadow = "decision" in judgement ? judgement.decision.shadow : undefined
  if (shadow === undefined || shadow.verdict === judgement.verdict) return undefined
  const by =
    shadow.rule === undefined
      ? ""
      : ` by ${shadow.rule.policy.namespace}/${shadow.rule.policy.name} rules[${shadow.rule.rule}]`
  return `would be ${shadow.verdict === "deny" ? "denied" : "allowed"}${by}`
}
