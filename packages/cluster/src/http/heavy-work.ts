// SPDX-License-Identifier: Apache-2.0
// Processes large documents step by step: owners take turns, and after each step the server pauses for as long as the
// step took. One caller's megabytes then delay others by at most one step.

import { FairQueue } from "@merlon/wire/limits"
import type { Share } from "./share.js"

/** From here on a body is worth queueing for; smaller ones cost a few milliseconds in all. */
export const HEAVY_BYTES = 128 * 1024

export class HeavyWork {
  readonly #queue = new FairQueue<() => void>()
  #busy = false

  run<T>({ owner }: Share, step: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.add(owner, () => {
        try {
          resolve(step())
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      })
      if (this.#busy) return
      this.#busy = true
      setImmediate(() => this.#next())
    })
  }

  #next(): void {
    const step = this.#queue.next()
    if (step === undefined) {
      this.#busy = false
      return
    }
    const began = performance.now()
    step()
    // A timer that is due at once runs before I/O; the immediate makes sure that the event loop turns in between.
    setTimeout(() => setImmediate(() => this.#next()), performance.now() - began)
  }
}
