// SPDX-License-Identifier: Apache-2.0
//
// Limits that keep one client from starving the others: requests in flight, watches per user, and how slowly a request
// may arrive. All settable; all refusals say when to come back.

import { tooManyRequests } from "../meta/status.js"

export interface Limits {
  readsInFlight: number
  writesInFlight: number
  watchesPerUser: number
  /** Milliseconds for headers and for the whole request to arrive. */
  headersTimeout: number
  requestTimeout: number
  /** Milliseconds without progress after which an answer that nobody takes is dropped. */
  responseTimeout: number
  maxHeaderSize: number
  maxConnections: number
}

export const defaultLimits: Limits = {
  readsInFlight: 400,
  writesInFlight: 200,
  watchesPerUser: 2000,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  responseTimeout: 60_000,
  maxHeaderSize: 64 * 1024,
  maxConnections: 10_000,
}

export class InFlight {
  #reads = 0
  #writes = 0
  readonly #watches = new Map<string, number>()

  constructor(readonly limits: Limits) {}

  /** Returns what ends the request's claim. */
  enter(write: boolean): () => void {
    if (write ? this.#writes >= this.limits.writesInFlight : this.#reads >= this.limits.readsInFlight)
      throw tooManyRequests("Too many requests, please try again later.", 1)
    if (write) this.#writes++
    else this.#reads++
    let left = false
    return () => {
      if (left) return
      left = true
      if (write) this.#writes--
      else this.#reads--
    }
  }

  watch(user: string): () => void {
    const count = this.#watches.get(user) ?? 0
    if (count >= this.limits.watchesPerUser)
      throw tooManyRequests(`user "${user}" has too many watches open, close some of them`, 5)
    this.#watches.set(user, count + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      const now = (this.#watches.get(user) ?? 1) - 1
      if (now <= 0) this.#watches.delete(user)
      else this.#watches.set(user, now)
    }
  }

  get counts(): { reads: number; writes: number; watches: number } {
    return {
      reads: this.#reads,
      writes: this.#writes,
      watches: [...this.#watches.values()].reduce((sum, n) => sum + n, 0),
    }
  }
}
