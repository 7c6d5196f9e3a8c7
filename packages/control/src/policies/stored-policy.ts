// SPDX-License-Identifier: Apache-2.0
// One stored document as the control plane uses it: the original, its errors, and the version in effect. Immutable: a
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
  /** The object as last observed. */
  readonly object: KubernetesObject
  /** The document as written, if it is readable. */
  readonly written: OfKind<K> | undefined
  /** Errors of the document; empty if it is readable. */
  readonly errors: readonly DocumentError[]
  /**
   * The version in effect: as written, else the last readable version, else the strictest it could mean. The same value
   * as long as its meaning is the same. Undefined if it would change no outcome.
   */
  readonly inForce: OfKind<K> | undefined
  /** Whether `inForce` is a fallback policy, which no user wrote. */
  readonly isFallback: boolean
  /**
   * Set if the policy was deleted with its namespace or owner: the uids of the workloads that still run and for which
   * it stays in effect; undefined until these are known.
   */
  readonly deleted?: { readonly staysFor: ReadonlySet<string> | undefined }
}

export interface PolicyChange {
  readonly before: StoredPolicy | undefined
  /** Undefined if it was deleted. */
  readonly after: StoredPolicy | undefined
}

/** The source of policies for views, routes, status, admission and analysis. */
export interface PolicySource {
  /** By `Kind/namespace/name`. */
  readonly items: ReadonlyMap<string, StoredPolicy>
  /**
   * Called after `items` contains the change, even if it does not affect meaning. Returns a function that stops
   * listening.
   */
  onChange(listener: (change: PolicyChange) => void): () => void
}

/** Whether anything changed besides the status and fields without meaning. */
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
