// SPDX-License-Identifier: Apache-2.0
// Counts responses by destination and failures by reason. Reasons are grouped and bounded, since servers choose them.

import type { Shares } from "./expectation.js"

const MAX_REASONS = 50
const OTHERS = "other reasons"

export interface DestinationTally {
  readonly name: string
  readonly answered: number
  /** Percentage of all responses. */
  readonly share: number
  readonly statuses: { readonly [status: string]: number }
}

export class Tally {
  readonly #answers = new Map<string, Map<number, number>>()
  readonly #failures = new Map<string, number>()
  #failed = 0

  /** `names`: destinations that are shown even if they answer nothing. */
  constructor(names: Iterable<string> = []) {
    for (const name of names) this.#answers.set(name, new Map())
  }

  answered(name: string, status: number): void {
    const statuses = this.#answers.get(name) ?? new Map<number, number>()
    this.#answers.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1))
  }

  failed(reason: string): void {
    this.#failed += 1
    const key = this.#failures.has(reason) || this.#failures.size < MAX_REASONS ? reason : OTHERS
    this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1)
  }

  get failures(): readonly { readonly reason: string; readonly count: number }[] {
    return [...this.#failures].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count)
  }

  get failureCount(): number {
    return this.#failed
  }

  get counts(): Shares {
    return new Map([...this.#answers].map(([name, statuses]) => [name, sum(statuses.values())]))
  }

  get destinations(): readonly DestinationTally[] {
    const total = sum(this.counts.values())
    return [...this.#answers].map(([name, statuses]) => {
      const answered = sum(statuses.values())
      const share = total === 0 ? 0 : Math.round((answered * 1_000) / total) / 10
      return { name, answered, share, statuses: Object.fromEntries(statuses) }
    })
  }
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}
