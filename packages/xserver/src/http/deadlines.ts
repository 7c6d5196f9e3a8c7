// SPDX-License-Identifier: Apache-2.0
// Time limits for many things with one timer. Setting a deadline is an assignment, so that a request costs no timer of
// its own; all are looked at a few times per second, and none is found early.

import { performance } from "node:perf_hooks"
import type { Limits } from "../limits.js"

export interface Expiring {
  /** In the clock of `Deadlines`; 0 for none. */
  deadline: number
  /** Called once per deadline. */
  expire(): void
}

const MIN_TICK_MS = 5
const MAX_TICK_MS = 500

export class Deadlines {
  readonly #tickMs: number
  readonly #watched = new Set<Expiring>()
  #timer: NodeJS.Timeout | undefined
  #now = performance.now()

  constructor(limits: Limits) {
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
    this.#watched.add(item)
    if (this.#timer !== undefined) return
    this.#now = performance.now()
    this.#timer = setInterval(() => this.#tick(), this.#tickMs)
    // Watching is no reason for the process to live.
    this.#timer.unref()
  }

  unwatch(item: Expiring): void {
    this.#watched.delete(item)
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const now = performance.now()
    this.#now = now
    for (const item of this.#watched) {
      if (item.deadline === 0 || item.deadline > now) continue
      item.deadline = 0
      item.expire()
    }
  }
}
