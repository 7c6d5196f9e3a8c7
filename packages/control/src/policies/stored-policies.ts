// SPDX-License-Identifier: Apache-2.0
// Every stored document of our kinds, read once per version. All code that needs the contents of a policy gets it here,
// so that no two parts can disagree.

import type { MeshNames } from "@merlon/policy/mesh"
import type { Kind } from "@merlon/policy/resources"
import { Emitter } from "@merlon/xds/runtime"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { readPolicy } from "./read-policy.js"
import { type PolicyChange, type PolicySource, policyKey, type StoredPolicy } from "./stored-policy.js"

/** Called for a stored document that cannot be read; `kept` if an earlier version of it stays in effect. */
export type OnInvalid = (policy: StoredPolicy, kept: boolean) => void

export interface StoredPoliciesOptions {
  readonly names: MeshNames
  readonly onInvalid: OnInvalid
}

export class StoredPolicies implements PolicySource {
  readonly #options: StoredPoliciesOptions
  readonly #items = new Map<string, StoredPolicy>()
  readonly #changes = new Emitter<[change: PolicyChange]>()

  constructor(options: StoredPoliciesOptions) {
    this.#options = options
  }

  get items(): ReadonlyMap<string, StoredPolicy> {
    return this.#items
  }

  onChange(listener: (change: PolicyChange) => void): () => void {
    return this.#changes.on(listener)
  }

  set(kind: Kind, object: KubernetesObject): void {
    const { names, onInvalid } = this.#options
    const { namespace = "default", name } = object.metadata
    const before = this.#items.get(policyKey(kind, namespace, name))
    const after = readPolicy(kind, object, before, names)
    this.#items.set(after.key, after)
    if (after.errors.length > 0 && after.errors !== before?.errors) onInvalid(after, !after.isFallback)
    this.#notify({ before, after })
  }

  /** Removes the policy; it has no effect from now on. */
  delete(kind: Kind, namespace: string, name: string): void {
    const key = policyKey(kind, namespace, name)
    const before = this.#items.get(key)
    if (before === undefined) return
    this.#items.delete(key)
    this.#notify({ before, after: undefined })
  }

  /** Keeps a deleted policy in effect: for all workloads until it is known which ones need it, then only for those. */
  keepDeleted(kind: Kind, namespace: string, name: string, staysFor: ReadonlySet<string> | undefined): void {
    const before = this.#items.get(policyKey(kind, namespace, name))
    if (before === undefined) return
    const after = { ...before, deleted: { staysFor } }
    this.#items.set(after.key, after)
    this.#notify({ before, after })
  }

  #notify(change: PolicyChange): void {
    this.#changes.emit(change)
  }
}
