// SPDX-License-Identifier: Apache-2.0
// Finds policies by the workloads they may select: by a required label, or by a named target.

import type { MeshNames } from "@merlon/policy/mesh"
import { targetsBefore } from "@merlon/policy/selection"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { SelectorIndex } from "../registry/selector-index.js"
import type { EncodedPolicy } from "./encoded-policy.js"

export class PolicyIndex {
  readonly #byLabels = new SelectorIndex<EncodedPolicy>()
  /** By namespace and target. */
  readonly #byTarget = new Map<string, Set<EncodedPolicy>>()

  add(policy: EncodedPolicy): void {
    if (policy.targets === undefined) this.#byLabels.add(policy)
    for (const place of placesOf(policy)) {
      const policies = this.#byTarget.get(place)
      if (policies === undefined) this.#byTarget.set(place, new Set([policy]))
      else policies.add(policy)
    }
  }

  delete(policy: EncodedPolicy): void {
    if (policy.targets === undefined) this.#byLabels.delete(policy)
    for (const place of placesOf(policy)) {
      const policies = this.#byTarget.get(place)
      policies?.delete(policy)
      if (policies?.size === 0) this.#byTarget.delete(place)
    }
  }

  /** Candidates, some of them more than once. */
  *proposed(workload: MeshWorkload, names: MeshNames): Iterable<EncodedPolicy> {
    const { namespace, labels } = workload
    for (const place of new Set([names.rootNamespace, namespace])) yield* this.#byLabels.matching(place, labels)
    for (const target of targetsBefore(workload, names)) yield* this.#byTarget.get(`${namespace}/${target}`) ?? []
  }
}

function placesOf({ namespace, targets = [] }: EncodedPolicy): readonly string[] {
  return targets.map(target => `${namespace}/${target}`)
}
