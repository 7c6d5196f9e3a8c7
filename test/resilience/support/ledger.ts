// SPDX-License-Identifier: Apache-2.0
// The records of a crash test: requests, responses and watch events. Whatever crashed in between, they must be
// consistent: no acknowledged write is lost, no rejected one happened, and no event is repeated or out of order.

export interface Seen {
  revision: number
  key: string
  /** The id of the write whose value this is; absent for a deletion. */
  id?: string
  /** The previous id, if watch events contain it: a chain without a missing link. */
  previous?: string | undefined
}

interface Asked {
  id: string
  key: string
  deletes: boolean
  /** `open`: it is unknown whether the write happened. */
  outcome: "open" | "rejected" | { revision: number }
}

export class Ledger {
  readonly #asked = new Map<string, Asked>()
  readonly #acknowledged = new Map<number, Asked>()
  readonly #unseen = new Set<number>()
  readonly #open = new Set<Asked>()
  readonly #promised = new Set<Asked>()
  readonly #state = new Map<string, string>()
  #pending: Seen[] = []
  #lastSeen: number
  #highest = 0
  acknowledgements = 0
  events = 0

  constructor(
    startRevision: number,
    /** Whether watch events contain the previous value. */
    readonly chained: boolean,
  ) {
    this.#lastSeen = startRevision
  }

  /** The revision at which a watcher must resume. */
  get lastSeen(): number {
    return this.#lastSeen
  }

  ask(id: string, key: string, deletes = false): void {
    const asked: Asked = { id, key, deletes, outcome: "open" }
    this.#asked.set(id, asked)
    this.#open.add(asked)
  }

  acknowledge(id: string, revision: number): void {
    const asked = this.#settle(id, { revision })
    const other = this.#acknowledged.get(revision)
    if (other !== undefined) throw new Error(`revision ${revision} was given to both ${other.id} and ${id}`)
    this.#acknowledged.set(revision, asked)
    this.#unseen.add(revision)
    this.#highest = Math.max(this.#highest, revision)
    this.acknowledgements++
  }

  /** For responses without the revision, such as Kubernetes' to a deletion. */
  acknowledgeUnnumbered(id: string): void {
    const asked = this.#asked.get(id)
    if (asked?.outcome !== "open") throw new Error(`${id} was answered twice or never asked`)
    this.#promised.add(asked)
    this.acknowledgements++
  }

  /** The write certainly did not happen. */
  reject(id: string): void {
    this.#settle(id, "rejected")
  }

  see(event: Seen): void {
    if (event.revision <= this.#lastSeen)
      throw new Error(
        `revision ${event.revision} of ${event.key} came after ${this.#lastSeen}: repeated or out of order`,
      )
    this.#lastSeen = event.revision
    this.#pending.push(event)
    this.events++
  }

  /**
   * Called when no writer is active and the watcher has caught up: everything must match the state that the server
   * returns.
   */
  check(state: ReadonlyMap<string, string>, revision: number): void {
    if (revision < this.#highest) throw new Error(`the revision went back from ${this.#highest} to ${revision}`)
    for (const event of this.#pending) this.#match(event)
    this.#pending = []
    for (const missing of this.#unseen) {
      const { id, key } = this.#acknowledged.get(missing) ?? {}
      throw new Error(`${id} of ${key} was acknowledged at ${missing}, but no watcher was told`)
    }
    for (const { id, key } of this.#promised)
      throw new Error(`${id} of ${key} was acknowledged, but no watcher was told`)
    this.#expire()
    for (const key of new Set([...state.keys(), ...this.#state.keys()]))
      if (state.get(key) !== this.#state.get(key))
        throw new Error(`${key} is ${state.get(key)}, but by what watchers were told it is ${this.#state.get(key)}`)
  }

  #settle(id: string, outcome: Asked["outcome"]): Asked {
    const asked = this.#asked.get(id)
    if (asked?.outcome !== "open") throw new Error(`${id} was answered twice or never asked`)
    asked.outcome = outcome
    this.#open.delete(asked)
    return asked
  }

  #match({ revision, key, id, previous }: Seen): void {
    const where = `revision ${revision} of ${key}`
    const before = this.#state.get(key)
    if (this.chained && previous !== before)
      throw new Error(`${where} follows ${previous}, yet watchers knew ${before}`)
    if (id === undefined && before === undefined) throw new Error(`${where} deletes what was not there`)
    const acknowledged = this.#acknowledged.get(revision)
    const asked = acknowledged ?? (id === undefined ? this.#openDeletion(key) : this.#asked.get(id))
    if (
      asked === undefined ||
      asked.key !== key ||
      asked.deletes !== (id === undefined) ||
      (id ?? asked.id) !== asked.id
    )
      throw new Error(`${where} is a change nobody asked for`)
    if (acknowledged === undefined && asked.outcome !== "open")
      throw new Error(
        `${where} is ${asked.id}, which was ${asked.outcome === "rejected" ? "rejected" : "told already"}`,
      )
    if (acknowledged === undefined) asked.outcome = { revision }
    this.#open.delete(asked)
    this.#promised.delete(asked)
    this.#unseen.delete(revision)
    if (id === undefined) this.#state.delete(key)
    else this.#state.set(key, id)
  }

  /**
   * Every server that could still execute these is dead, and a later write has been seen, so they can no longer happen.
   */
  #expire(): void {
    for (const asked of this.#open) if (asked.outcome === "open") asked.outcome = "rejected"
    this.#open.clear()
  }

  #openDeletion(key: string): Asked | undefined {
    for (const asked of this.#open) if (asked.deletes && asked.key === key && asked.outcome === "open") return asked
    return undefined
  }
}
