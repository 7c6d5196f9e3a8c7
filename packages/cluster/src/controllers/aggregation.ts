// SPDX-License-Identifier: Apache-2.0
//
// Fills aggregated ClusterRoles with the rules of every ClusterRole whose labels match one of the selectors, ordered by
// name, as kube-controller-manager does.

import { metaOf } from "../meta/object-meta.js"
import type { Registry } from "../registry/registry.js"
import { matchesLabels, selectorFromObject } from "../selectors/label.js"
import type { Watch } from "../store/store.js"
import { asArray, asObject, clone, equal, isObject, type Json } from "../value.js"
import { stringify } from "../wire/json.js"
import { WorkQueue } from "./work-queue.js"

const PREFIX = "/registry/clusterroles/"

export class RoleAggregator {
  readonly #queue: WorkQueue
  #watch: Watch | undefined

  constructor(readonly registry: Registry) {
    this.#queue = new WorkQueue(() => this.aggregate())
  }

  async start(): Promise<void> {
    await this.aggregate()
    const { store } = this.registry
    this.#watch = store.watch(PREFIX, store.revision(), () => this.#queue.add("roles"))
  }

  async aggregate(): Promise<void> {
    const { store } = this.registry
    const { entries } = await store.range({ prefix: PREFIX })
    for (const entry of entries) {
      const rule = entry.object.aggregationRule
      if (!isObject(rule)) continue
      const selectors = asArray(rule.clusterRoleSelectors).map(selectorFromObject)
      const rules: Json[] = []
      for (const other of entries) {
        if (other.key === entry.key) continue
        const labels = asObject(metaOf(other.object).labels)
        if (!selectors.some(selector => selector !== undefined && matchesLabels(selector, labels))) continue
        for (const item of asArray(other.object.rules)) if (!rules.some(known => equal(known, item))) rules.push(item)
      }
      if (equal(rules, asArray(entry.object.rules))) continue
      await store.commit(
        [{ key: entry.key, modRevision: entry.modRevision }],
        [{ key: entry.key, value: stringify({ ...clone(entry.object), rules }) }],
      )
      // Roles that aggregate this one are updated when the watch reports the change.
    }
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#queue.close()
  }
}
