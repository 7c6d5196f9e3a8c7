// SPDX-License-Identifier: Apache-2.0
// What owners hold of a limited resource: connections, requests, bytes. `heaviest` names the owner that must give
// something up when there is too much: the one that holds most, so that an owner with many members cannot lock out one
// with few. The user of the pool decides which member is removed, and whether the new one is rejected instead.

/** What one owner holds. */
export interface Holdings<T> {
  readonly owner: string
  readonly amount: number
  /** By when they were last added, oldest first, with what each holds. */
  readonly members: ReadonlyMap<T, number>
  readonly oldest: T | undefined
}

export class FairPool<T> {
  /** INVARIANT: every owner has a member. */
  readonly #byOwner = new Map<string, Owned<T>>()
  #amount = 0

  get amount(): number {
    return this.#amount
  }

  of(owner: string): Holdings<T> | undefined {
    return this.#byOwner.get(owner)
  }

  held(owner: string): number {
    return this.#byOwner.get(owner)?.amount ?? 0
  }

  /** A member that exists moves to the end, with the new amount. */
  add(owner: string, member: T, amount = 1): void {
    let owned = this.#byOwner.get(owner)
    if (owned === undefined) {
      owned = new Owned(owner)
      this.#byOwner.set(owner, owned)
    }
    const before = owned.members.get(member) ?? 0
    owned.members.delete(member)
    owned.members.set(member, amount)
    owned.amount += amount - before
    this.#amount += amount - before
  }

  /** False if the owner has no such member. */
  remove(owner: string, member: T): boolean {
    const owned = this.#byOwner.get(owner)
    const amount = owned?.members.get(member)
    if (owned === undefined || amount === undefined) return false
    owned.members.delete(member)
    owned.amount -= amount
    this.#amount -= amount
    if (owned.members.size === 0) this.#byOwner.delete(owner)
    return true
  }

  /** Undefined if the pool is empty. */
  heaviest(): Holdings<T> | undefined {
    let most: Holdings<T> | undefined
    for (const owned of this.#byOwner.values()) if (most === undefined || owned.amount > most.amount) most = owned
    return most
  }
}

class Owned<T> implements Holdings<T> {
  readonly owner: string
  readonly members = new Map<T, number>()
  amount = 0

  constructor(owner: string) {
    this.owner = owner
  }

  get oldest(): T | undefined {
    return this.members.keys().next().value
  }
}
