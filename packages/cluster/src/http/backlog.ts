// SPDX-License-Identifier: Apache-2.0
//
// All bytes that wait for somebody to read them, and who pays when they are too many: the owner of the most loses its
// largest outbox. A stream that is dropped costs its reader a new list; memory that runs out costs everybody.

import type { Share } from "./share.js"

export interface Waiting {
  readonly share: Share
  readonly pending: number
  drop(): void
}

export interface BacklogBounds {
  readonly all: number
  readonly each: number
}

export class Backlog {
  readonly #byOwner = new Map<string, { bytes: number; readonly members: Set<Waiting> }>()
  #bytes = 0

  constructor(readonly bounds: BacklogBounds) {}

  get bytes(): number {
    return this.#bytes
  }

  /** Whether an answer of this size may begin to wait. Somebody's only one always may, however large; so may the system's. */
  hasRoom({ owner, system }: Share, bytes: number): boolean {
    const own = this.#byOwner.get(owner)?.bytes ?? 0
    if (own === 0 || system) return true
    return this.#bytes + bytes <= this.bounds.all && own + bytes <= this.bounds.each
  }

  /** Tells that `change` more bytes of a member wait, or fewer. */
  changed(member: Waiting, change: number): void {
    const { owner, system } = member.share
    let own = this.#byOwner.get(owner)
    if (own === undefined) {
      own = { bytes: 0, members: new Set() }
      this.#byOwner.set(owner, own)
    }
    own.bytes += change
    this.#bytes += change
    if (member.pending > 0) own.members.add(member)
    else own.members.delete(member)
    if (own.members.size === 0) this.#byOwner.delete(owner)
    if (change <= 0) return
    // A single member is bounded by whoever made it; a share bounds what several make together.
    while (!system && own.bytes > this.bounds.each && own.members.size > 1) this.#dropLargest(own.members)
    while (this.#bytes > this.bounds.all) {
      const members = this.#heaviest()
      if (members === undefined) break
      this.#dropLargest(members)
    }
  }

  /** The members of whoever makes the most wait; the system's only when nobody else is left, never the last one of all. */
  #heaviest(): ReadonlySet<Waiting> | undefined {
    let found: { bytes: number; members: Set<Waiting> } | undefined
    let count = 0
    for (const system of [false, true]) {
      for (const own of this.#byOwner.values()) {
        const [first] = own.members
        if (first === undefined || first.share.system !== system) continue
        count += own.members.size
        if (found === undefined || own.bytes > found.bytes) found = own
      }
      if (found !== undefined && (count > 1 || this.#byOwner.size > 1)) return found.members
    }
    return undefined
  }

  #dropLargest(members: ReadonlySet<Waiting>): void {
    let largest: Waiting | undefined
    for (const member of members) if (largest === undefined || member.pending > largest.pending) largest = member
    largest?.drop()
  }
}
