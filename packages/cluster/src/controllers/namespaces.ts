// SPDX-License-Identifier: Apache-2.0
//
// Empties namespaces that are being deleted, and lets them go once nothing is left inside.

import { isDeleting, metaOf } from "../meta/object-meta.js"
import type { Registry } from "../registry/registry.js"
import type { Watch } from "../store/store.js"
import { asObject, asStrings, clone } from "../value.js"
import { stringify } from "../wire/json.js"
import { deleteStored } from "./delete-stored.js"
import { WorkQueue } from "./work-queue.js"

const PREFIX = "/registry/namespaces/"
const RETRY_MS = 200

export class NamespaceController {
  readonly #queue: WorkQueue
  #watch: Watch | undefined

  constructor(readonly registry: Registry) {
    this.#queue = new WorkQueue(key => this.#reconcile(key))
  }

  async start(): Promise<void> {
    const { store } = this.registry
    const { entries, revision } = await store.range({ prefix: PREFIX })
    for (const entry of entries) if (isDeleting(entry.object)) this.#queue.add(entry.key)
    this.#watch = store.watch(PREFIX, revision, event => {
      if (event.entry !== undefined && isDeleting(event.entry.object)) this.#queue.add(event.key)
    })
  }

  async #reconcile(key: string): Promise<void> {
    const { store, catalog } = this.registry
    const entry = await store.get(key)
    if (entry === undefined || !isDeleting(entry.object)) return
    if (!asStrings(asObject(entry.object.spec).finalizers).includes("kubernetes")) return
    const name = key.slice(PREFIX.length)
    const prefixes = [
      ...new Set(
        catalog
          .kinds()
          .filter(kind => kind.info.namespaced)
          .map(kind => `${kind.info.prefix}${name}/`),
      ),
    ]
    let left = 0
    for (const prefix of prefixes)
      for (const object of (await store.range({ prefix })).entries)
        if (!(await deleteStored(store, object, this.registry.clock))) left++
    if (left > 0) {
      this.#queue.addLater(key, RETRY_MS)
      return
    }
    const next = clone(entry.object)
    const spec = asObject(next.spec)
    const finalizers = asStrings(spec.finalizers).filter(item => item !== "kubernetes")
    next.spec = finalizers.length === 0 ? {} : { ...spec, finalizers }
    const held = finalizers.length > 0 || asStrings(metaOf(next).finalizers).length > 0
    const done = await store.commit(
      [{ key, modRevision: entry.modRevision }],
      [held ? { key, value: stringify(next) } : { key, delete: true }],
    )
    if (done === undefined) this.#queue.add(key)
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#queue.close()
  }
}
