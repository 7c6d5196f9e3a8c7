// SPDX-License-Identifier: Apache-2.0
// The interface between the API server and a store: a sorted key space with one monotonic revision, compare-and-write,
// reads at a past revision and a gapless watch. Implemented by the embedded store (LevelDB) and by etcd.

import type { JsonObject } from "../value.js"
import { parseTrusted } from "../wire/json.js"

/** One version of one key. Shared between readers and never changed. */
export class Entry {
  #object: JsonObject | undefined

  constructor(
    readonly key: string,
    readonly value: string,
    readonly createRevision: number,
    readonly modRevision: number,
  ) {}

  /** The stored document, parsed once. */
  get object(): JsonObject {
    // The store holds only documents this server wrote, and they are objects.
    this.#object ??= parseTrusted(this.value) as JsonObject
    return this.#object
  }
}

export interface StoreEvent {
  readonly revision: number
  readonly key: string
  /** Absent when the key was deleted. */
  readonly entry?: Entry | undefined
  readonly previous?: Entry | undefined
}

export interface Compare {
  readonly key: string
  /** The version that must stand; 0: the key must not exist. */
  readonly modRevision: number
}

export type Write = { readonly key: string; readonly value: string } | { readonly key: string; readonly delete: true }

export interface RangeRequest {
  readonly prefix: string
  /** Read as of this revision; the newest when left out. */
  readonly revision?: number
  readonly limit?: number
  /** Only keys after this one. */
  readonly after?: string
}

export interface RangeResult {
  readonly entries: Entry[]
  readonly revision: number
  /** How many keys of the range follow the last entry. */
  readonly remaining: number
}

export interface Watch {
  close(): void
}

export interface Store {
  /**
   * The same store for decisions that Kubernetes, too, takes from a cache (roles, webhooks, accounts): its reads send
   * no request and show this process's own writes at once, other servers' writes a moment later. It looks up unknown
   * keys.
   */
  recent(): Store
  get(key: string): Promise<Entry | undefined>
  range(request: RangeRequest): Promise<RangeResult>
  /** All compares hold and everything is written durably, or nothing is and undefined comes back. */
  commit(compares: readonly Compare[], writes: readonly Write[]): Promise<number | undefined>
  /** Events after the revision, in order, without gap or repetition; throws CompactedError if they are forgotten. */
  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): Watch
  revision(): number
  /** Whether there is such a revision yet; where only another server knows it, waits a moment to catch up. */
  reached(revision: number): Promise<boolean>
  compactedRevision(): number
  /** Forgets history up to and including the revision. */
  compact(revision: number): Promise<void>
  close(): Promise<void>
}

export class CompactedError extends Error {
  constructor(
    readonly asked: number,
    readonly current: number,
  ) {
    super(`revision ${asked} is compacted`)
  }
}

/** A read at a revision that does not exist yet. */
export class FutureRevisionError extends Error {
  constructor(readonly current: number) {
    super(`revision is in the future, current is ${current}`)
  }
}
