// SPDX-License-Identifier: Apache-2.0
// Processes every object of a kind that is being deleted: first the existing ones, then each when its deletion begins
// or it changes, until the handler reports that nothing is left to do.

import { isDeleting } from "../meta/object-meta.js"
import type { Entry, Store, Watch } from "../store/store.js"
import { WorkQueue } from "./work-queue.js"

/** Returns the milliseconds until the object is processed again, or undefined if its next change will trigger it. */
export type DeletionWork = (entry: Entry) => Promise<number | undefined>

export class DeletionQueue {
  readonly #store: Store
  readonly #prefix: string
  readonly #queue: WorkQueue
  #watch: Watch | undefined

  constructor(store: Store, prefix: string, work: DeletionWork) {
    this.#store = store
    this.#prefix = prefix
    this.#queue = new WorkQueue(async key => {
      const entry = await store.get(key)
      if (entry === undefined || !isDeleting(entry.object)) return
      const againMs = await work(entry)
      if (againMs === 0) this.#queue.add(key)
      else if (againMs !== undefined) this.#queue.addLater(key, againMs)
    })
  }

  async start(): Promise<void> {
    const { entries, revision } = await this.#store.range({ prefix: this.#prefix })
    for (const entry of entries) this.#consider(entry)
    this.#watch = this.#store.watch(this.#prefix, revision, ({ entry }) => this.#consider(entry))
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#queue.close()
  }

  #consider(entry: Entry | undefined): void {
    if (entry !== undefined && isDeleting(entry.object)) this.#queue.add(entry.key)
  }
}
