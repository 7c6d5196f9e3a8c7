// SPDX-License-Identifier: Apache-2.0
// The interface between the API server and a store: a sorted key space with one monotonic revision, compare-and-write,
// reads at a past revision and a gapless watch. Implemented by the embedded store (LevelDB) and by etcd.

import type { JsonObject } from "../value.js"
import { parseTrusted } from "../wire/json.js"

/** One version of one key. It is shared between readers and never changed. */
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
    // The store contains only documents that this server wrote, and they are objects.
    this.#object ??= parseTrusted(this.value) as JsonObject
    return this.#object
  }
}

export interface StoreEvent {
  readonly revision: number
  readonly key: string
  /** Absent if the key was deleted. */
  readonly entry?: Entry | undefined
  readonly previous?: Entry | undefined
}

export interface Compare {
  readonly key: string
  /** The version that the key must have; 0: the key must not exist. */
  readonly modRevision: number
}

export type Write = { readonly key: string; readonly value: string } | { readonly key: string; readonly delete: true }

export interface RangeRequest {
  readonly prefix: string
  /** The revision to read; the newest if omitted. */
  readonly revision?: number
  readonly limit?: number
  /** Only keys after this one. */
  readonly after?: string
}

export interface RangeResult {
  readonly entries: Entry[]
  readonly revision: number
  /** The number of keys in the range after the last entry. */
  readonly remaining: number
}

export interface Watch {
  close(): void
}

export interface Store {
  /**
   * The same store for decisions that Kubernetes also makes from a cache (roles, webhooks, accounts). Its reads send no
   * request. They include this process's own writes at once, and other servers' writes a moment later. Unknown keys are
   * looked up in the store.
   */
  recent(): Store
  get(key: string): Promise<Entry | undefined>
  range(request: RangeRequest): Promise<RangeResult>
  /**
   * Writes everything durably if all compares match and returns the revision; otherwise writes nothing and returns
   * undefined.
   */
  commit(compares: readonly Compare[], writes: readonly Write[]): Promise<number | undefined>
  /**
   * Sends events after the revision, in order, without gap or repetition. Throws CompactedError if they are compacted.
   */
  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): Watch
  revision(): number
  /** Whether the revision exists yet. If only another server knows it, waits a moment to catch up. */
  reached(revision: number): Promise<boolean>
  compactedRevision(): number
  /** Removes history up to and including the revision. */
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

/** Thrown by a read at a revision that does not exist yet. */
export class FutureRevisionError extends Error {
  constructor(readonly current: number) {
    super(`revision is in the future, current is ${current}`)
  }
}
