// SPDX-License-Identifier: Apache-2.0
// Processes large documents step by step. Owners alternate, and after each step the server pauses for as long as the
// step took. So one caller's megabytes delay others by at most one step.

import { FairQueue } from "@merlon/wire/limits"
import type { Share } from "./share.js"

/** Bodies from this size are queued; smaller ones take a few milliseconds in total. */
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
    // A timer that is due at once fires before I/O. The immediate makes the event loop process I/O in between.
    setTimeout(() => setImmediate(() => this.#next()), performance.now() - began)
  }
}
