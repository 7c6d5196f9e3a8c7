// SPDX-License-Identifier: Apache-2.0
//
// Removes Pods whose grace is over and that nobody else will remove: those without a node, and those on a node that this
// cluster does not know. A kubelet removes its own Pods; without this, the Pods of nobody would hold their namespace for ever.

import { isDeleting, metaOf } from "../meta/object-meta.js"
import type { Registry } from "../registry/registry.js"
import type { Watch } from "../store/store.js"
import { asString, asStrings, dig } from "../value.js"
import { followDeletions } from "./followed-deletions.js"
import { WorkQueue } from "./work-queue.js"

const PREFIX = "/registry/pods/"
/** A node may still be on its way back; Kubernetes, too, looks again before it gives its Pods up. */
const LOOK_AGAIN_MS = 20_000

export class PodCollector {
  readonly #queue: WorkQueue
  #watch: Watch | undefined

  constructor(readonly registry: Registry) {
    this.#queue = new WorkQueue(key => this.#reconcile(key))
  }

  async start(): Promise<void> {
    this.#watch = await followDeletions(this.registry.store, PREFIX, key => this.#queue.add(key))
  }

  async #reconcile(key: string): Promise<void> {
    const { store, catalog, clock } = this.registry
    const entry = await store.get(key)
    if (entry === undefined || !isDeleting(entry.object)) return
    const meta = metaOf(entry.object)
    // Whoever removes the last finalizer wakes us.
    if (asStrings(meta.finalizers).length > 0) return
    const left = Date.parse(asString(meta.deletionTimestamp)) - clock()
    if (left > 0) {
      this.#queue.addLater(key, left)
      return
    }
    const node = asString(dig(entry.object, "spec", "nodeName"))
    const nodes = catalog.builtin("", "v1", "nodes")
    if (node !== "" && (await store.get(`${nodes.info.prefix}${node}`)) !== undefined) {
      this.#queue.addLater(key, LOOK_AGAIN_MS)
      return
    }
    const done = await store.commit([{ key, modRevision: entry.modRevision }], [{ key, delete: true }])
    if (done === undefined) this.#queue.add(key)
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#queue.close()
  }
}
