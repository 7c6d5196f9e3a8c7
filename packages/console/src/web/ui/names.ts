// SPDX-License-Identifier: Apache-2.0
// Short names for people; the whole name stands behind each.

/** `spiffe://cluster.local/ns/app/sa/web` as `app/web`. */
export function callerName(uri: string | undefined): string {
  const [, namespace, account] = /\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri ?? "") ?? []
  return namespace === undefined ? (uri ?? "") : `${namespace}/${account}`
}

/** Of an identity as `spiffe://cluster.local/ns/app/sa/web`. */
export function trustDomainOf(identity: string | undefined): string | undefined {
  return /^spiffe:\/\/([^/]+)\//.exec(identity ?? "")?.[1]
}

/** As policies write it. */
export function principalOf(identity: string): string {
  return identity.replace(/^spiffe:\/\//, "")
}

const STAGES: Readonly<Record<string, string>> = {
  transport: "the mode of the port",
  path: "a path without a canonical form",
  token: "its token",
  allow: "no rule that allows it",
  default: "no policy that refuses it",
  protocol: "its protocol",
  revoked: "a revoked identity",
  message: "no readable request",
}

/** What settled it where no rule did. */
export function stageWords(stage: string | undefined): string {
  return STAGES[stage ?? ""] ?? stage ?? ""
}

/** `app/readers[0]` as the policy and the position of its rule. */
export function ruleParts(rule: string | undefined): { readonly policy: string; readonly at: string } | undefined {
  const [, policy, at] = /^(.+)\[(\d+)\]$/.exec(rule ?? "") ?? []
  return policy === undefined || at === undefined ? undefined : { policy, at }
}
