// SPDX-License-Identifier: Apache-2.0
// An enforced policy in its wire form: stripped and encoded once, with the data to find the workloads it selects and
// the keys it needs.

import type { MeshNames } from "@merlon/policy/mesh"
import { targetKey } from "@merlon/policy/selection"
import { keySetId } from "@merlon/policy/tokens"
import { type ProxyResource, resourceNames } from "@merlon/xds"
import { contentVersion } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import { policyKey, type SecurityPolicy } from "../policies/stored-policy.js"
import { wireDocument } from "../policies/wire-document.js"

export type Encode = (resource: ProxyResource) => Uint8Array

export interface EncodedPolicy {
  readonly key: string
  readonly document: SecurityPolicy
  readonly namespace: string
  /** Targets in its namespace that it names instead of labels, as `targetKey` writes them. */
  readonly targets: readonly string[] | undefined
  /** Required labels; empty to select everything in scope. */
  readonly selector: { readonly [key: string]: string }
  readonly resource: VersionedResource
  /** Key sets of the rules without inline keys. */
  readonly keySets: ReadonlySet<string>
  /** For a policy that was deleted together with some workloads: their uids. It selects no others. */
  readonly staysFor?: ReadonlySet<string>
}

export interface PolicyReplacement {
  readonly before: EncodedPolicy | undefined
  readonly after: EncodedPolicy | undefined
}

export function encodePolicy(document: SecurityPolicy, names: MeshNames, encode: Encode): EncodedPolicy {
  const { kind, metadata, spec } = document
  const wire = wireDocument(document, names)
  return {
    key: policyKey(kind, metadata.namespace, metadata.name),
    document,
    namespace: metadata.namespace,
    targets: spec.targetRefs?.map(targetKey),
    selector: spec.selector?.matchLabels ?? {},
    resource: {
      name: resourceNames.policy(kind, metadata.namespace, metadata.name),
      version: contentVersion(wire),
      value: encode({ kind: "policy", document: wire }),
    },
    keySets: new Set(keySetsOf(document)),
  }
}

/** Ids of the key sets that are fetched for the policy, each once, in the order of its rules. */
export function keySetsOf(policy: SecurityPolicy): readonly string[] {
  if (policy.kind !== "RequestAuthentication") return []
  const fetched = (policy.spec.jwtRules ?? []).filter(({ jwks }) => jwks === undefined)
  return [...new Set(fetched.map(rule => keySetId(rule)))]
}
