// SPDX-License-Identifier: Apache-2.0
// Short names for identities, callers and causes.

import type { ObservedCall } from "../api/answers.js"

/** `spiffe://cluster.local/ns/app/sa/web` as `app/web`. */
export function callerName(uri: string | undefined): string {
  const [, namespace, account] = /\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri ?? "") ?? []
  return namespace === undefined ? (uri ?? "") : `${namespace}/${account}`
}

/** The caller's identity, or for plaintext calls its workload or address if known. */
export function callerOf({ caller, from, address }: Pick<ObservedCall, "caller" | "from" | "address">): string {
  return caller === undefined ? (from ?? address ?? "unknown") : callerName(caller)
}

/** `spiffe://cluster.local/ns/app/sa/web` has the trust domain `cluster.local`. */
export function trustDomainOf(identity: string | undefined): string | undefined {
  return /^spiffe:\/\/([^/]+)\//.exec(identity ?? "")?.[1]
}

/** The identity as policies write it, without `spiffe://`. */
export function principalOf(identity: string): string {
  return identity.replace(/^spiffe:\/\//, "")
}

const STAGES: Readonly<Record<string, string>> = {
  transport: "the mTLS mode of the port",
  path: "a path without a canonical form",
  token: "its token",
  allow: "no ALLOW rule matched",
  default: "no policy applies",
  protocol: "its protocol",
  revoked: "a revoked identity",
  message: "an unreadable request",
}

/** The stage that decided a call without a rule, in words. */
export function stageWords(stage: string | undefined): string {
  return STAGES[stage ?? ""] ?? stage ?? ""
}

/** The rule that decided a call, or the stage if no rule did. */
export function causeOf({ rule, stage }: Pick<ObservedCall, "rule" | "stage">): string {
  return rule === undefined ? stageWords(stage) : `rule ${rule.rule} of ${rule.policy}`
}

/** Splits `app/readers[0]` into the policy and the index of its rule. */
export function ruleParts(rule: string | undefined): { readonly policy: string; readonly at: string } | undefined {
  const [, policy, at] = /^(.+)\[(\d+)\]$/.exec(rule ?? "") ?? []
  return policy === undefined || at === undefined ? undefined : { policy, at }
}
