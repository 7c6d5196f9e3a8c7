// SPDX-License-Identifier: Apache-2.0
// Tracks which policies select which workloads, in both directions. The index only finds candidates; `@merlon/policy`
// decides whether a policy applies, and does so again in the proxy.

import type { MeshConfig } from "@merlon/policy/mesh"
import { peerScope, select } from "@merlon/policy/selection"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { EncodedPolicy, PolicyReplacement } from "./encoded-policy.js"
import { PolicyIndex } from "./policy-index.js"

const NO_WORKLOADS: ReadonlySet<string> = new Set()
const NO_POLICIES: ReadonlySet<EncodedPolicy> = new Set()

export class Selection {
  readonly #directory: MeshDirectory
  readonly #mesh: MeshConfig
  readonly #index = new PolicyIndex()
  /** By policy key. */
  readonly #workloads = new Map<string, Set<string>>()
  /** By workload key. */
  readonly #policies = new Map<string, Set<EncodedPolicy>>()

  constructor(directory: MeshDirectory, mesh: MeshConfig) {
    this.#directory = directory
    this.#mesh = mesh
  }

  /** Keys of workloads, with or without a proxy. */
  selectedBy(policy: string): ReadonlySet<string> {
    return this.#workloads.get(policy) ?? NO_WORKLOADS
  }

  /** In arbitrary order. */
  policiesOf(workload: string): ReadonlySet<EncodedPolicy> {
    return this.#policies.get(workload) ?? NO_POLICIES
  }

  /** Returns the workloads that the old or the new version selects. */
  replacePolicy({ before, after }: PolicyReplacement): ReadonlySet<string> {
    const touched = new Set<string>()
    if (before !== undefined) {
      for (const workload of this.selectedBy(before.key)) {
        touched.add(workload)
        this.#policies.get(workload)?.delete(before)
      }
      this.#workloads.delete(before.key)
      this.#index.delete(before)
    }
    if (after === undefined) return touched
    this.#index.add(after)
    const selected = new Set<string>()
    for (const workload of this.#directory.select(after.selector, this.#scopeOf(after))) {
      if (!this.#applies(after, workload)) continue
      selected.add(workload.key)
      touched.add(workload.key)
      const policies = this.#policies.get(workload.key)
      if (policies === undefined) this.#policies.set(workload.key, new Set([after]))
      else policies.add(after)
    }
    this.#workloads.set(after.key, selected)
    return touched
  }

  /**
   * Call it when the workload was added, removed or changed. Returns the policies that started or stopped selecting it.
   */
  reviseWorkload(key: string): ReadonlySet<string> {
    const workload = this.#directory.workloads.get(key)
    const before = this.policiesOf(key)
    const after = workload === undefined ? NO_POLICIES : this.#find(workload)
    const changed = new Set<string>()
    for (const policy of before) {
      if (after.has(policy)) continue
      changed.add(policy.key)
      this.#workloads.get(policy.key)?.delete(key)
    }
    for (const policy of after) {
      if (before.has(policy)) continue
      changed.add(policy.key)
      this.#workloads.get(policy.key)?.add(key)
    }
    if (after.size === 0) this.#policies.delete(key)
    else this.#policies.set(key, new Set(after))
    return changed
  }

  #find(workload: MeshWorkload): ReadonlySet<EncodedPolicy> {
    const found = new Set<EncodedPolicy>()
    for (const policy of this.#index.proposed(workload, this.#mesh.names)) {
      if (this.#applies(policy, workload)) found.add(policy)
    }
    return found
  }

  #applies({ document, staysFor }: EncodedPolicy, workload: MeshWorkload): boolean {
    if (staysFor !== undefined && !staysFor.has(workload.uid)) return false
    if (document.kind === "PeerAuthentication") return peerScope(document, workload, this.#mesh) !== undefined
    return select(document.kind, [document], workload, this.#mesh).length > 0
  }

  #scopeOf({ namespace, targets }: EncodedPolicy): string | undefined {
    return targets === undefined && namespace === this.#mesh.names.rootNamespace ? undefined : namespace
  }
}
