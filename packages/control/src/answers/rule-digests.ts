// SPDX-License-Identifier: Apache-2.0
// The rules of stored policies, identified by their contents: a rule that is moved keeps its counts, and a rule that is
// changed starts again.

import { createHash } from "node:crypto"
import type { PolicyDocument } from "@merlon/policy/resources"

export interface StoredRule {
  /** `Kind/namespace/name`. */
  readonly policy: string
  /** Position in `rules` or `jwtRules`. */
  readonly index: number
  readonly digest: string
}

const digests = new WeakMap<PolicyDocument, readonly StoredRule[]>()

export function rulesOf(document: PolicyDocument): readonly StoredRule[] {
  let known = digests.get(document)
  if (known === undefined) {
    const { kind, metadata } = document
    const policy = `${kind}/${metadata.namespace}/${metadata.name}`
    known = textsOf(document).map((text, index) => ({
      policy,
      index,
      digest: createHash("sha256").update(text).digest("hex").slice(0, 16),
    }))
    digests.set(document, known)
  }
  return known
}

function textsOf(document: PolicyDocument): readonly string[] {
  switch (document.kind) {
    case "AuthorizationPolicy":
      return (document.spec.rules ?? []).map(rule => JSON.stringify([document.spec.action ?? "ALLOW", rule]))
    case "RequestAuthentication":
      return (document.spec.jwtRules ?? []).map(rule => JSON.stringify(rule))
    default:
      return []
  }
}
