// SPDX-License-Identifier: Apache-2.0
// A queue of connections that wait for their TLS handshake. After a restart all proxies connect at once, and if all
// handshakes ran at once, none would finish before its client times out. So each turn of the event loop starts a few. A
// client that stalls its handshake delays no other. Addresses take turns, so that one with thousands of connections
// delays the others by one at a time.

import { FairQueue } from "@merlon/wire/limits"

/** Few enough that running handshakes progress, enough that a turn is not spent on bookkeeping. */
const PER_TURN = 8

export class HandshakeQueue<T> {
  readonly #queue = new FairQueue<T>()
  readonly #start: (waiting: T) => void
  readonly #soon: (run: () => void) => void
  #scheduled = false

  constructor(start: (waiting: T) => void, soon: (run: () => void) => void = setImmediate) {
    this.#start = start
    this.#soon = soon
  }

  add(address: string, waiting: T): void {
    this.#queue.add(address, waiting)
    this.#schedule()
  }

  /** Removes and returns all waiting connections. */
  clear(): readonly T[] {
    return this.#queue.clear()
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.isEmpty) return
    this.#scheduled = true
    this.#soon(() => {
      this.#scheduled = false
      for (let left = PER_TURN; left > 0; left--) {
        const next = this.#queue.next()
        if (next !== undefined) this.#start(next)
      }
      this.#schedule()
    })
  }
}
