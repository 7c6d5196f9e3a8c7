// SPDX-License-Identifier: Apache-2.0
// Logs failed calls, each destination and reason at a limited rate: a program that retries in a loop must not fill the
// disk.

import type { Log } from "@merlon/xds/runtime"
import type { CallFailure } from "../call/call-failure.js"

const QUIET_MS = 10_000
/** Beyond this, the oldest is forgotten. */
const MAX_REMEMBERED = 1_000

interface Logged {
  readonly at: number
  /** Failures since then that were not logged. */
  silent: number
}

export class FailureLog {
  readonly #log: Log
  readonly #now: () => number
  readonly #logged = new Map<string, Logged>()

  constructor(log: Log, now: () => number = Date.now) {
    this.#log = log
    this.#now = now
  }

  failed(destination: string, { code, message }: Pick<CallFailure, "code" | "message">): void {
    const key = `${code} ${destination}`
    const last = this.#logged.get(key)
    if (last !== undefined && this.#now() - last.at < QUIET_MS) {
      last.silent += 1
      return
    }
    const more = last === undefined || last.silent === 0 ? {} : { repeated: last.silent }
    this.#log.warn({ destination, code, why: message, ...more }, "an outbound call failed")
    this.#logged.delete(key)
    this.#logged.set(key, { at: this.#now(), silent: 0 })
    const [oldest] = this.#logged.keys()
    if (this.#logged.size > MAX_REMEMBERED && oldest !== undefined) this.#logged.delete(oldest)
  }
}
