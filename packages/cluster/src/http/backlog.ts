// SPDX-License-Identifier: Apache-2.0
// Limits the bytes that wait to be read by clients. When there are too many, the owner of the most loses its largest
// outbox. A dropped stream costs its client a new list, while running out of memory affects everyone.

import { FairPool, type Holdings } from "@merlon/wire/limits"
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
  readonly #users = new FairPool<Waiting>()
  /** The system's outboxes are dropped only when no user has bytes waiting. */
  readonly #system = new FairPool<Waiting>()

  constructor(readonly bounds: BacklogBounds) {}

  get bytes(): number {
    return this.#users.amount + this.#system.amount
  }

  /**
   * Whether a response of this size may start to wait. The system's always may, and so may a user's first one of any
   * size.
   */
  hasRoom({ owner, system }: Share, bytes: number): boolean {
    const own = this.#users.held(owner)
    if (own === 0 || system) return true
    return this.bytes + bytes <= this.bounds.all && own + bytes <= this.bounds.each
  }

  /** Called when the number of bytes waiting in a member has changed. */
  changed(member: Waiting): void {
    const { owner, system } = member.share
    const pool = system ? this.#system : this.#users
    const before = this.bytes
    if (member.pending > 0) pool.add(owner, member, member.pending)
    else pool.remove(owner, member)
    if (this.bytes <= before) return
    // A single member has its own limit, so it stays; this limit applies to several together.
    while (!system && pool.held(owner) > this.bounds.each) {
      const largest = largestOf(pool.of(owner))
      if (largest === undefined || largest.pending === pool.held(owner)) break
      largest.drop()
    }
    while (this.bytes > this.bounds.all) {
      const largest = largestOf(this.#users.heaviest() ?? this.#system.heaviest())
      if (largest === undefined || largest.pending === this.bytes) break
      largest.drop()
    }
  }
}

function largestOf(holdings: Holdings<Waiting> | undefined): Waiting | undefined {
  let largest: Waiting | undefined
  for (const member of holdings?.members.keys() ?? [])
    if (largest === undefined || member.pending > largest.pending) largest = member
  return largest
}
