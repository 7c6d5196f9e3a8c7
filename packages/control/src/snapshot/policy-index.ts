// SPDX-License-Identifier: Apache-2.0
// Finds policies by the workloads they may select: by a required label, or by a named Service.

import type { MeshWorkload } from "../registry/mesh-workload.js"
import { SelectorIndex } from "../registry/selector-index.js"
import type { EncodedPolicy } from "./encoded-policy.js"

export class PolicyIndex {
  readonly #byLabels = new SelectorIndex<EncodedPolicy>()
  /** By `namespace/name` of the Service. */
  readonly #byService = new Map<string, Set<EncodedPolicy>>()

  add(policy: EncodedPolicy): void {
    if (policy.services === undefined) this.#byLabels.add(policy)
    for (const place of placesOf(policy)) {
      const policies = this.#byService.get(place)
      if (policies === undefined) this.#byService.set(place, new Set([policy]))
      else policies.add(policy)
    }
  }

  delete(policy: EncodedPolicy): void {
    if (policy.services === undefined) this.#byLabels.delete(policy)
    for (const place of placesOf(policy)) {
      const policies = this.#byService.get(place)
      policies?.delete(policy)
      if (policies?.size === 0) this.#byService.delete(place)
    }
  }

  /** Some of them more than once. */
  *proposed({ namespace, labels, services }: MeshWorkload, rootNamespace: string): Iterable<EncodedPolicy> {
    for (const place of new Set([rootNamespace, namespace])) yield* this.#byLabels.matching(place, labels)
    for (const service of services) yield* this.#byService.get(`${namespace}/${service}`) ?? []
  }
}

function placesOf({ namespace, services = [] }: EncodedPolicy): readonly string[] {
  return services.map(service => `${namespace}/${service}`)
}
