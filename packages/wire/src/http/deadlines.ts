// SPDX-License-Identifier: Apache-2.0
// Deadlines for many objects with one timer. To set a deadline is an assignment, so a request needs no timer of its
// own. All deadlines are checked a few times per second, and none fires early.

import { performance } from "node:perf_hooks"

export interface Expiring {
  /** In the clock of `Deadlines`; 0 for no deadline. */
  deadline: number
  /** The index in the list of watched objects, maintained by `Deadlines`; initially `UNWATCHED`. */
  place: number
  /** Called once per deadline. */
  expire(): void
}

/** The time limits for which deadlines will be set, in milliseconds; 0 means no limit. */
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
  // An array and not a Set: a Set that gains and loses entries with every request rebuilds its table every few
  // requests. Each old table points to the next one, so a table in the old generation keeps all later tables alive, and
  // the requests in them.
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

  /** The time of the last tick. */
  get now(): number {
    return this.#now
  }

  /** The deadline that is `limitMs` from now; 0 (none) if there is no limit. */
  after(limitMs: number): number {
    // The clock is as old as the last tick, so one tick is added: a deadline can be late by one tick, but never early.
    return limitMs === 0 ? 0 : this.#now + limitMs + this.#tickMs
  }

  watch(item: Expiring): void {
    if (item.place !== UNWATCHED) return
    item.place = this.#watched.push(item) - 1
    if (this.#timer !== undefined) return
    this.#now = performance.now()
    this.#timer = setInterval(() => this.#tick(), this.#tickMs)
    // The timer must not keep the process alive.
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
    // Backwards: when `expire` removes an entry, an entry that has already been checked takes its place.
    for (let place = this.#watched.length - 1; place >= 0; place--) {
      const item = this.#watched[place]
      if (item === undefined || item.deadline === 0 || item.deadline > now) continue
      item.deadline = 0
      item.expire()
    }
  }
}
