// SPDX-License-Identifier: Apache-2.0
// All bytes that wait to be read by clients. When there are too many, the owner of the most loses its largest outbox: a
// dropped stream costs its reader a new list, while running out of memory affects everyone.

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
  /** Gives way only when no user has anything waiting. */
  readonly #system = new FairPool<Waiting>()

  constructor(readonly bounds: BacklogBounds) {}

  get bytes(): number {
    return this.#users.amount + this.#system.amount
  }

  /** Whether an answer of this size may begin to wait. A user's only one always may, however large; so may the system's. */
  hasRoom({ owner, system }: Share, bytes: number): boolean {
    const own = this.#users.held(owner)
    if (own === 0 || system) return true
    return this.bytes + bytes <= this.bounds.all && own + bytes <= this.bounds.each
  }

  /** Tells that more or fewer bytes of a member wait than before. */
  changed(member: Waiting): void {
    const { owner, system } = member.share
    const pool = system ? this.#system : this.#users
    const before = this.bytes
    if (member.pending > 0) pool.add(owner, member, member.pending)
    else pool.remove(owner, member)
    if (this.bytes <= before) return
    // Its creator bounds a single member, so it stays; this bound limits what several make together.
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
