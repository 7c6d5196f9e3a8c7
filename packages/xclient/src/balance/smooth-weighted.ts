// SPDX-License-Identifier: Apache-2.0
// Smooth weighted round robin: over each full period every entry is picked exactly as often as its weight says, and as
// evenly spread as possible. Weight 0 is never picked. Changed weights begin a new period, so that a change applies
// from the next pick on; equal weights change nothing.

export interface Weighted<T> {
  readonly value: T
  readonly weight: number
}

interface Entry<T> {
  value: T
  readonly weight: number
  /** INVARIANT: the credits of all entries add up to 0 between picks. */
  credit: number
}

export class SmoothWeighted<T> {
  #entries: readonly Entry<T>[] = []
  #total = 0

  constructor(entries: readonly Weighted<T>[] = []) {
    this.update(entries)
  }

  /** Entries are identified by index: callers pass the same ones in the same order. */
  update(entries: readonly Weighted<T>[]): void {
    const same =
      entries.length === this.#entries.length &&
      this.#entries.every(({ weight }, index) => entries[index]?.weight === weight)
    this.#entries = entries.map(({ value, weight }, index) => ({
      value,
      weight,
      credit: same ? (this.#entries[index]?.credit ?? 0) : 0,
    }))
    this.#total = entries.reduce((sum, { weight }) => sum + weight, 0)
  }

  /** Undefined if all weights are 0, or there are no entries. */
  pick(): T | undefined {
    let best: Entry<T> | undefined
    for (const entry of this.#entries) {
      if (entry.weight === 0) continue
      entry.credit += entry.weight
      if (best === undefined || entry.credit > best.credit) best = entry
    }
    if (best === undefined) return undefined
    best.credit -= this.#total
    return best.value
  }
}

/** The number of picks after which every entry has exactly its share. 0 if nothing is ever picked. */
export function periodOf(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const divisor = weights.reduce(greatestCommonDivisor, 0)
  return divisor === 0 ? 0 : total / divisor
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
