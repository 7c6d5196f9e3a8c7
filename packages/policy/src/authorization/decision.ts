// SPDX-License-Identifier: Apache-2.0
// The result of authorization for one request, with its evidence. Logs, explanations and replies all read this one value.

import type { NearMiss } from "./nearest.js"
import type { PolicyRef, RuleRef } from "./rule.js"

/**
 * `default`: no ALLOW policy applies, so everything that no DENY rule denies is allowed. `custom`: an external
 * authorizer denied the request, or everything else would allow it and an authorizer that was not asked may deny it.
 * The verdict is then `deny`, to fail closed.
 */
export type AuthorizationStage = "custom" | "deny" | "allow" | "default"

/** What the provider of a CUSTOM rule answered about a request. */
export interface ProviderReport {
  readonly provider: string
  readonly rule: RuleRef
  readonly outcome: "allowed" | "denied" | "failed"
  /** The status of a denial, or the reason why there is no usable answer. */
  readonly detail: string
}

export interface Verdict {
  readonly verdict: "allow" | "deny"
  /** The stage that decided. */
  readonly stage: AuthorizationStage
  /** The policy that decided; for an ALLOW miss the nearest one; absent in stage `default`. */
  readonly policy: PolicyRef | undefined
  /** The rule that matched; absent if none did. */
  readonly rule: RuleRef | undefined
  /** In stage `custom`: for each provider, the first CUSTOM rule that matched. */
  readonly asked?: readonly RuleRef[] | undefined
}

export interface Decision extends Verdict {
  /** The first AUDIT rule that matched. */
  readonly audit: RuleRef | undefined
  /** The verdict if every shadow policy were enforced; absent if no shadow policy applies. */
  readonly shadow: Verdict | undefined
  /** For an ALLOW miss: the nearest rule and its first failing field. Computed on demand. */
  readonly nearest: NearMiss | undefined
}

/** In the spelling of other meshes' response flags and logs. Never part of a reply. */
export function responseDetails({ verdict, rule }: Verdict): string | undefined {
  if (verdict === "allow") return undefined
  return `rbac_access_denied_matched_policy[${rule === undefined ? "none" : rule.id}]`
}
