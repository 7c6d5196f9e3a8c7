// SPDX-License-Identifier: Apache-2.0
// This process's copy of etcd's contents: the newest version of every key and the recent changes, updated by one watch.
// Local watchers and lists use the copy, so etcd has one watch per server, regardless of the number of clients.
// INVARIANT: everything up to `revision` has been applied and sent to every watcher, and nothing after it.

import { KeySpace } from "../embedded/key-space.js"
import { CompactedError, Entry, type StoreEvent, type Watch } from "../store.js"
import type { KeyValue } from "./messages.js"

/** The number of changes kept for watchers that resume, whatever their age. */
const MAX_LOG = 100_000

export interface Change {
  readonly revision: number
  readonly key: string
  /** Absent for a deletion. */
  readonly kv?: KeyValue
}

interface Watcher {
  readonly prefix: string
  readonly after: number
  listener(event: StoreEvent): void
}

interface Waiter {
  readonly revision: number
  resolve(reached: boolean): void
}

export class Replica {
  #keys = new KeySpace()
  #log: StoreEvent[] = []
  #revision = 0
  #floor = 0
  #waiters: Waiter[] = []
  #closed = false
  readonly #watchers = new Set<Watcher>()

  get revision(): number {
    return this.#revision
  }

  /** Changes up to and including this revision are not available here. */
  get floor(): number {
    return this.#floor
  }

  /** Starts from a complete state. */
  load(entries: readonly KeyValue[], revision: number): void {
    this.#keys = new KeySpace()
    for (const kv of entries) this.#keys.put(toEntry(kv))
    this.#revision = revision
    this.#floor = revision
    this.#log = []
  }

  get(key: string): Entry | undefined {
    return this.#keys.get(key)
  }

  range(prefix: string): Entry[] {
    return this.#keys.range(prefix)
  }

  /** Returns the cached version if it is the same one, so that its document is parsed once. */
  share(kv: KeyValue): Entry {
    const known = this.#keys.get(kv.key)
    return known?.modRevision === kv.modRevision ? known : toEntry(kv)
  }

  /** Applies changes in order, up to revision `upTo`. Changes that were applied before are ignored. */
  apply(changes: readonly Change[], upTo: number): void {
    const before = this.#revision
    const events: StoreEvent[] = []
    for (const { revision, key, kv } of changes) {
      if (revision <= before) continue
      const previous = this.#keys.get(key)
      if (kv === undefined && previous === undefined) continue
      const entry = kv === undefined ? undefined : toEntry(kv)
      if (entry === undefined) this.#keys.delete(key)
      else this.#keys.put(entry)
      events.push({ revision, key, entry, previous })
    }
    this.#revision = Math.max(before, upTo)
    this.#notify(events)
    if (this.#log.length > MAX_LOG) this.forget(this.#log[this.#log.length >> 1]?.revision ?? 0)
    const waiting = this.#waiters
    this.#waiters = waiting.filter(({ revision }) => revision > this.#revision)
    for (const waiter of waiting) if (waiter.revision <= this.#revision) waiter.resolve(true)
  }

  /**
   * Used when etcd has compacted the changes since the last revision: every difference from the complete state is
   * published as one change per key. Watchers reach etcd's revision in order and without repetition, but do not see
   * objects that were created and deleted in between.
   */
  catchUp(state: readonly KeyValue[], revision: number): void {
    const changes: Change[] = []
    const present = new Set<string>()
    for (const kv of state) {
      present.add(kv.key)
      const known = this.#keys.get(kv.key)
      if (known?.modRevision === kv.modRevision) continue
      // The key was deleted and created again. Without the deletion, two objects of the same name would look like one.
      if (known !== undefined && known.createRevision !== kv.createRevision)
        changes.push({ revision: kv.modRevision, key: kv.key })
      changes.push({ revision: kv.modRevision, key: kv.key, kv })
    }
    for (const { key } of this.#keys.range("")) if (!present.has(key)) changes.push({ revision, key })
    changes.sort((a, b) => a.revision - b.revision)
    this.apply(changes, revision)
    this.forget(revision)
  }

  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): Watch {
    if (after < this.#floor) throw new CompactedError(after, this.#revision)
    for (const event of this.#log.slice(this.#firstAfter(after))) if (event.key.startsWith(prefix)) listener(event)
    const watcher: Watcher = { prefix, after, listener }
    this.#watchers.add(watcher)
    return { close: () => this.#watchers.delete(watcher) }
  }

  #notify(events: readonly StoreEvent[]): void {
    this.#log.push(...events)
    // A watcher that starts meanwhile reads all changes from the log, so only the existing watchers are notified.
    const audience = [...this.#watchers]
    for (const event of events)
      for (const watcher of audience) {
        if (event.revision <= watcher.after || !event.key.startsWith(watcher.prefix)) continue
        if (!this.#watchers.has(watcher)) continue
        try {
          watcher.listener(event)
        } catch (error) {
          // An error in a listener must not prevent the other listeners from getting the change.
          queueMicrotask(() => {
            throw error
          })
        }
      }
  }

  #firstAfter(revision: number): number {
    let low = 0
    let high = this.#log.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#log[middle]?.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  forget(revision: number): void {
    const upTo = Math.min(revision, this.#revision)
    if (upTo <= this.#floor) return
    this.#floor = upTo
    this.#log = this.#log.slice(this.#firstAfter(upTo))
  }

  /** Resolves to true once everything up to the revision is applied, and to false after the timeout. */
  reach(revision: number, timeoutMs: number): Promise<boolean> {
    if (revision <= this.#revision) return Promise.resolve(true)
    if (this.#closed) return Promise.resolve(false)
    return new Promise(resolve => {
      const waiter: Waiter = {
        revision,
        resolve: reached => {
          clearTimeout(timer)
          resolve(reached)
        },
      }
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter(other => other !== waiter)
        resolve(false)
      }, timeoutMs)
      this.#waiters.push(waiter)
    })
  }

  /** Afterwards no listener is called, and no caller waits. */
  close(): void {
    this.#closed = true
    this.#watchers.clear()
    for (const waiter of this.#waiters) waiter.resolve(false)
    this.#waiters = []
  }
}

function toEntry({ key, value, createRevision, modRevision }: KeyValue): Entry {
  return new Entry(key, value, createRevision, modRevision)
}
