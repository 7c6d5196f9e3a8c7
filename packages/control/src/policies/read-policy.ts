// SPDX-License-Identifier: Apache-2.0
// Reads a stored object, given its previous state, and returns the version that is in effect. This is the only place
// where stored documents are read. An unreadable document never replaces a readable one; if there is no readable one,
// the strictest possible meaning is the fallback.

import type { MeshNames } from "@merlon/policy/mesh"
import { type Kind, type PolicyDocument, validate } from "@merlon/policy/resources"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { fallbackPolicy } from "./fallback-policy.js"
import { meansTheSame } from "./meaning.js"
import { isSecurityKind, type OfKind, policyKey, type StoredPolicy } from "./stored-policy.js"

export function readPolicy<K extends Kind>(
  kind: K,
  object: KubernetesObject,
  before: StoredPolicy<K> | undefined,
  names: MeshNames,
): StoredPolicy<K> {
  if (before?.deleted === undefined && before !== undefined && meansTheSame(before.object, object, names)) {
    return { ...before, object }
  }
  const { namespace = "default", name } = object.metadata
  const known = { key: policyKey(kind, namespace, name), kind, namespace, name, object }
  const { document, errors } = validate(object, names)
  if (document !== undefined && isOfKind(document, kind)) {
    return { ...known, written: document, errors: [], inForce: document, isFallback: false }
  }
  // Fail closed: without the last good version, denied requests would be allowed. A new object with the same name is
  // not a version of it: the old one was deleted on purpose.
  const isVersion = before !== undefined && before.object.metadata.uid === object.metadata.uid
  if (isVersion && !before.isFallback && before.inForce !== undefined) {
    return { ...known, written: undefined, errors, inForce: before.inForce, isFallback: false }
  }
  return { ...known, written: undefined, errors, inForce: fallbackOf(kind, object, names), isFallback: true }
}

/**
 * Routes have no strictest meaning: without a readable MeshService, callers use the Service itself. Invariants have
 * none either, since they allow nothing.
 */
function fallbackOf<K extends Kind>(kind: K, object: KubernetesObject, names: MeshNames): OfKind<K> | undefined {
  const document = isSecurityKind(kind) ? fallbackPolicy(kind, object, names) : undefined
  return document !== undefined && isOfKind(document, kind) ? document : undefined
}

export function isOfKind<K extends Kind>(document: PolicyDocument, kind: K): document is OfKind<K> {
  return document.kind === kind
}
