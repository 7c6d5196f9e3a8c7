// SPDX-License-Identifier: Apache-2.0
// Deadlines for many objects with one timer. Setting a deadline is an assignment, so that a request needs no timer of its
// own; all are checked a few times per second, and none fires early.

import { performance } from "node:perf_hooks"

export interface Expiring {
  /** In the clock of `Deadlines`; 0 for none. */
  deadline: number
  /** For `Deadlines` alone: its place among all that are watched; `UNWATCHED` to begin with. */
  place: number
  /** Called once per deadline. */
  expire(): void
}

/** The limits that will be asked for, in milliseconds; 0 is none. */
export interface TimeLimits {
  readonly headerTimeoutMs: number
  readonly bodyIdleTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly tunnelIdleTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly responseTimeoutMs: number
  readonly streamIdleTimeoutMs: number
}

export const UNWATCHED = -1

const MIN_TICK_MS = 5
const MAX_TICK_MS = 500

export class Deadlines {
  readonly #tickMs: number
  // Not a Set, which is made anew every few requests that come and go: each of its tables points to the next, so one that
  // has grown old keeps all that came after it alive, with every request that was in them.
  readonly #watched: Expiring[] = []
  #timer: NodeJS.Timeout | undefined
  #now = performance.now()

  constructor(limits: TimeLimits) {
    const { headerTimeoutMs, bodyIdleTimeoutMs, keepAliveTimeoutMs, tunnelIdleTimeoutMs } = limits
    const { connectTimeoutMs, responseTimeoutMs, streamIdleTimeoutMs } = limits
    const all = [
      streamIdleTimeoutMs,
      headerTimeoutMs,
      bodyIdleTimeoutMs,
      keepAliveTimeoutMs,
      tunnelIdleTimeoutMs,
      connectTimeoutMs,
    ]
    const shortest = Math.min(...[...all, responseTimeoutMs].filter(limit => limit > 0))
    this.#tickMs = Math.min(MAX_TICK_MS, Math.max(MIN_TICK_MS, Math.floor(shortest / 8)))
  }

  /** As of the last tick. */
  get now(): number {
    return this.#now
  }

  /** A deadline so far from now; none where there is no limit. */
  after(limitMs: number): number {
    // The clock is as old as the last tick, so one tick is added: late by that much, never early.
    return limitMs === 0 ? 0 : this.#now + limitMs + this.#tickMs
  }

  watch(item: Expiring): void {
    if (item.place !== UNWATCHED) return
    item.place = this.#watched.push(item) - 1
    if (this.#timer !== undefined) return
    this.#now = performance.now()
    this.#timer = setInterval(() => this.#tick(), this.#tickMs)
    // Watching is no reason for the process to live.
    this.#timer.unref()
  }

  unwatch(item: Expiring): void {
    const { place } = item
    if (place === UNWATCHED) return
    item.place = UNWATCHED
    const last = this.#watched.pop()
    if (last !== undefined && last !== item) {
      this.#watched[place] = last
      last.place = place
    }
    if (this.#watched.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const now = performance.now()
    this.#now = now
    // From the end: an entry that leaves meanwhile is replaced by one that has been checked already.
    for (let place = this.#watched.length - 1; place >= 0; place--) {
      const item = this.#watched[place]
      if (item === undefined || item.deadline === 0 || item.deadline > now) continue
      item.deadline = 0
      item.expire()
    }
  }
}
