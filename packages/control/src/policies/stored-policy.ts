// SPDX-License-Identifier: Apache-2.0
// One stored document as the control plane uses it: the original, its errors, and what is in force for it. Immutable: a
// change creates a new value.

import type { DocumentError, Kind, PolicyDocument } from "@merlon/policy/resources"
import type { KubernetesObject } from "../kubernetes/resource-type.js"

export type OfKind<K extends Kind> = Extract<PolicyDocument, { readonly kind: K }>
export type SecurityKind = Exclude<Kind, "MeshService" | "PolicyInvariant">
export type SecurityPolicy = OfKind<SecurityKind>

/** Kinds that proxies enforce. Routes are for callers, and invariants check changes to policies. */
export function isSecurityPolicy(document: PolicyDocument): document is SecurityPolicy {
  return isSecurityKind(document.kind)
}

export function isSecurityKind(kind: Kind): kind is SecurityKind {
  return kind !== "MeshService" && kind !== "PolicyInvariant"
}

/** `Kind/namespace/name`. */
export function policyKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}

export interface StoredPolicy<K extends Kind = Kind> {
  readonly key: string
  readonly kind: K
  readonly namespace: string
  readonly name: string
  /** As last seen. */
  readonly object: KubernetesObject
  /** As people wrote it, where that can be read. */
  readonly written: OfKind<K> | undefined
  /** What is wrong with it; empty where it can be read. */
  readonly errors: readonly DocumentError[]
  /**
   * What counts: as written, else the last version that could be read, else the strictest it could mean. The same value
   * for as long as it means the same. Undefined where it would change no outcome.
   */
  readonly inForce: OfKind<K> | undefined
  /** Whether `inForce` is a fallback policy, which no user wrote. */
  readonly isFallback: boolean
  /**
   * Of one that was deleted along with its namespace or owner: the workloads, by uid, that still run and for which it
   * stays in force; undefined while it is being found out which those are.
   */
  readonly deleted?: { readonly staysFor: ReadonlySet<string> | undefined }
}

export interface PolicyChange {
  readonly before: StoredPolicy | undefined
  /** Undefined where it is gone. */
  readonly after: StoredPolicy | undefined
}

/** What views, routes, status, admission and analysis ask. */
export interface PolicySource {
  /** By `Kind/namespace/name`. */
  readonly items: ReadonlyMap<string, StoredPolicy>
  /** Called after `items` holds the change, also of one that means nothing to us. Returns how to stop listening. */
  onChange(listener: (change: PolicyChange) => void): () => void
}

/** Whether anything changed but the status and what means nothing to us. */
export function changesMeaning({ before, after }: PolicyChange): boolean {
  return (
    staysFor(before) !== staysFor(after) ||
    before?.inForce !== after?.inForce ||
    before?.written !== after?.written ||
    before?.errors !== after?.errors
  )
}

function staysFor(policy: StoredPolicy | undefined): unknown {
  return policy?.deleted?.staysFor
}
