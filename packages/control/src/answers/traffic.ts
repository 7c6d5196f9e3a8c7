// SPDX-License-Identifier: Apache-2.0
// Allowed and denied calls per minute for the last hour, as reported by the proxies of this replica since it started.
// Kept in memory only: the durable record is the ledger.

import type { ObservedCall } from "@merlon/policy/ledger"

export interface TrafficMinute {
  /** Start of the minute. */
  readonly time: string
  readonly allowed: number
  readonly denied: number
}

const MINUTE_MS = 60_000
const MINUTES = 60

interface Sum {
  allowed: number
  denied: number
}

export class Traffic {
  readonly #now: () => number
  readonly #since: number
  /** By the minute's number, then by namespace. */
  readonly #minutes = new Map<number, Map<string, Sum>>()

  constructor(now: () => number) {
    this.#now = now
    this.#since = now()
  }

  note(calls: readonly ObservedCall[]): void {
    const last = minuteOf(this.#now())
    for (const { workload, verdict, count, lastSeen } of calls) {
      // Counts that arrive an hour late are dropped, and a clock that is ahead counts in the current minute.
      const minute = Math.min(minuteOf(lastSeen), last)
      if (minute <= last - MINUTES) continue
      const sum = this.#sumOf(minute, workload.slice(0, workload.indexOf("/")))
      if (verdict === "allow") sum.allowed += count
      else sum.denied += count
    }
    for (const minute of this.#minutes.keys()) if (minute <= last - MINUTES) this.#minutes.delete(minute)
  }

  /** Oldest first, including minutes without calls. Covers all namespaces if none is given. */
  of(namespace: string | undefined): readonly TrafficMinute[] {
    const last = minuteOf(this.#now())
    const first = Math.max(last - MINUTES + 1, minuteOf(this.#since))
    return Array.from({ length: last - first + 1 }, (_, at) => {
      const sums = this.#minutes.get(first + at) ?? new Map<string, Sum>()
      const counted = namespace === undefined ? [...sums.values()] : [sums.get(namespace) ?? { allowed: 0, denied: 0 }]
      return {
        time: new Date((first + at) * MINUTE_MS).toISOString(),
        allowed: counted.reduce((sum, { allowed }) => sum + allowed, 0),
        denied: counted.reduce((sum, { denied }) => sum + denied, 0),
      }
    })
  }

  #sumOf(minute: number, namespace: string): Sum {
    const sums = this.#minutes.get(minute) ?? new Map<string, Sum>()
    this.#minutes.set(minute, sums)
    const sum = sums.get(namespace) ?? { allowed: 0, denied: 0 }
    sums.set(namespace, sum)
    return sum
  }
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS)
}
