// SPDX-License-Identifier: Apache-2.0
// One type on a delta stream: what the client subscribed to, what it holds as far as we know, and the difference to the
// current state.
//
// INVARIANT: for each name, either `#held` is what the client holds, or the next response contains the name again.

import { bytesOf } from "./request-bounds.js"
import type { ServedType } from "./served-types.js"
import type { Snapshot, VersionedResource } from "./source.js"
import { type Sent, Unanswered } from "./unanswered.js"

export interface DeltaResponse {
  readonly typeUrl: string
  readonly nonce: string
  readonly revision: number
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
}

export interface Difference {
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
  readonly changes: Map<string, string | undefined>
}

/** The client was told that the resource does not exist. */
const ABSENT = Symbol("absent")
/** It is uncertain which version the client holds. */
const UNCERTAIN = Symbol("uncertain")
const NO_NAMES: ReadonlySet<string> = new Set()

export class DeltaType implements ServedType {
  /** Whether the client subscribed to everything. */
  wildcard = false
  /**
   * Names with a subscription, whether the resources exist or not; undefined for most clients, which use the wildcard.
   */
  #names: Set<string> | undefined
  readonly unanswered = new Unanswered()
  expecting = false
  dirty = false
  readonly #held = new Map<string, string | typeof ABSENT | typeof UNCERTAIN>()
  #claimed = 0
  #rejected: ReadonlyMap<string, string | undefined> | undefined

  get names(): ReadonlySet<string> {
    return this.#names ?? NO_NAMES
  }

  /** How many names the client makes us remember. */
  get size(): number {
    return Math.max(this.names.size, this.#claimed)
  }

  /** How many bytes the client makes us keep. */
  get bytes(): number {
    let versions = 0
    for (const version of this.#held.values()) if (typeof version === "string") versions += 2 * version.length
    return bytesOf(this.names) + bytesOf(this.#held.keys()) + versions
  }

  claim(versions: Iterable<readonly [string, string]>): void {
    for (const [name, version] of versions) this.#held.set(name, version)
    this.#claimed = this.#held.size
  }

  subscribe(name: string, claimed: boolean): void {
    this.dirty = true
    if (name === "*") {
      this.wildcard = true
      this.expecting = true
      return
    }
    this.#names ??= new Set()
    this.#names.add(name)
    // A client that subscribes again has forgotten the resource, and earlier responses to it no longer count.
    if (!claimed) this.#forget(name)
  }

  unsubscribe(name: string): void {
    this.dirty = true
    if (name === "*") {
      this.wildcard = false
      return
    }
    const wasNamed = this.#names?.delete(name) ?? false
    this.#forget(name)
    // The wildcard still covers the name, and the client expects its state.
    if (this.wildcard && wasNamed) this.#held.set(name, UNCERTAIN)
  }

  /** Drops state of names without a subscription. */
  prune(): void {
    for (const name of this.#held.keys()) if (!this.#wants(name)) this.#held.delete(name)
  }

  accepted({ changes }: Sent): void {
    this.#rejected = undefined
    for (const [name, version] of changes) {
      if (!this.#wants(name)) continue
      if (version !== undefined) this.#held.set(name, version)
      else if (this.names.has(name)) this.#held.set(name, ABSENT)
      else this.#held.delete(name)
    }
  }

  /**
   * Some clients keep the valid half of a response that they reject, so all of it is uncertain. It is sent again once
   * it differs.
   */
  nacked(sent: Sent, skipped: readonly Sent[]): void {
    this.#rejected = sent.changes
    for (const { changes } of [...skipped, sent]) {
      for (const name of changes.keys()) if (this.#wants(name)) this.#held.set(name, UNCERTAIN)
    }
  }

  /** Whether the client rejected exactly these changes last; it would only reject them again. */
  wasRejected(changes: ReadonlyMap<string, string | undefined>): boolean {
    const rejected = this.#rejected
    if (rejected === undefined || !this.unanswered.empty || rejected.size !== changes.size) return false
    for (const [name, version] of changes) {
      if (!rejected.has(name) || rejected.get(name) !== version) return false
    }
    return true
  }

  difference({ resources: existing }: Snapshot): Difference {
    const touched = this.unanswered.touched()
    const changes = new Map<string, string | undefined>()
    const resources: VersionedResource[] = []
    const removed: string[] = []
    const remove = (name: string): void => {
      if (existing.has(name) || changes.has(name)) return
      removed.push(name)
      changes.set(name, undefined)
    }
    let found = 0
    for (const resource of existing.values()) {
      const { name, version } = resource
      const held = this.#held.get(name)
      if (held !== undefined) found++
      if (!this.#wants(name) || (!touched.has(name) && held === version)) continue
      resources.push(resource)
      changes.set(name, version)
    }
    for (const name of this.names) if (touched.has(name) || this.#held.get(name) !== ABSENT) remove(name)
    if (this.wildcard) {
      // Usually every held resource exists, so there is no need to search for deleted ones.
      if (found < this.#held.size) for (const name of this.#held.keys()) if (!this.names.has(name)) remove(name)
      for (const name of touched) if (!this.names.has(name)) remove(name)
    }
    return { resources, removed, changes }
  }

  #wants(name: string): boolean {
    return this.wildcard || this.names.has(name)
  }

  #forget(name: string): void {
    this.#held.delete(name)
    this.unanswered.forget(name)
  }
}
