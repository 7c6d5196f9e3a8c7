// SPDX-License-Identifier: Apache-2.0
// The output queue of one client. Bytes are written to the socket in slices, each after the previous one was accepted.
// TLS encrypts a whole write at once, so larger writes would be in memory twice, and events that many watchers share
// would be copied for each. A client that reads nothing for a while is disconnected.

import type { ServerResponse } from "node:http"
import type { Backlog, Waiting } from "./backlog.js"
import type { Share } from "./share.js"

const SLICE = 64 * 1024

export interface OutboxLimits {
  /** The maximum number of waiting bytes; Infinity for a response whose size is known in advance. */
  readonly bytes: number
  readonly stalledMs: number
}

export class Outbox implements Waiting {
  readonly #queue: Buffer[] = []
  #pending = 0
  /** Bytes written to the socket that it has not flushed yet. */
  #handed = 0
  #ending = false
  #closed = false
  #stalled: NodeJS.Timeout | undefined
  #waiters: (() => void)[] = []

  constructor(
    readonly response: ServerResponse,
    readonly share: Share,
    readonly backlog: Backlog,
    readonly limits: OutboxLimits,
  ) {
    response.on("drain", () => this.#flush())
    response.on("close", () => this.#close())
    if (response.destroyed) this.#close()
  }

  get pending(): number {
    return this.#pending
  }

  push(bytes: Buffer): void {
    if (this.#closed || this.#ending || bytes.length === 0) return
    this.#queue.push(bytes)
    this.#count(bytes.length)
    this.#flush()
    if (this.#pending > this.limits.bytes) this.drop()
  }

  /** Ends the response when all output has been flushed. */
  end(): void {
    if (this.#closed || this.#ending) return
    this.#ending = true
    this.#flush()
  }

  /** Resolves when no output is queued, or the connection is closed. */
  drained(): Promise<void> {
    if (this.#closed || (this.#pending === 0 && !this.response.writableNeedDrain)) return Promise.resolve()
    return new Promise(resolve => this.#waiters.push(resolve))
  }

  drop(): void {
    this.#close()
    this.response.destroy()
  }

  #flush(): void {
    if (this.#closed) return
    clearTimeout(this.#stalled)
    while (!this.response.writableNeedDrain) {
      if (this.#handed > 0) this.#count(-this.#handed)
      const [next] = this.#queue
      const slice = next?.subarray(0, SLICE)
      this.#handed = slice?.length ?? 0
      if (next === undefined || slice === undefined) break
      if (slice.length === next.length) this.#queue.shift()
      else this.#queue[0] = next.subarray(SLICE)
      this.response.write(slice)
    }
    if (this.response.writableNeedDrain) {
      this.#stalled = setTimeout(() => this.drop(), this.limits.stalledMs)
      this.#stalled.unref()
      return
    }
    this.#wake()
    if (this.#ending) this.response.end()
  }

  #count(change: number): void {
    this.#pending += change
    this.backlog.changed(this)
  }

  #wake(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#stalled)
    this.#queue.length = 0
    if (this.#pending > 0) this.#count(-this.#pending)
    this.#wake()
  }
}
