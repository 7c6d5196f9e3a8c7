// SPDX-License-Identifier: Apache-2.0
// Smooth weighted round robin: over each full period every entry comes up exactly as often as its weight says, and as
// evenly spread as that allows. Weight 0 never comes up. Other weights begin a new period, so that a change counts from
// the next pick on; the same weights again change nothing.

export interface Weighted<T> {
  readonly value: T
  readonly weight: number
}

interface Entry<T> {
  value: T
  readonly weight: number
  /** INVARIANT: over all entries these add up to 0 between picks. */
  credit: number
}

export class SmoothWeighted<T> {
  #entries: readonly Entry<T>[] = []
  #total = 0

  constructor(entries: readonly Weighted<T>[] = []) {
    this.update(entries)
  }

  /** Entries are told apart by their place: callers pass the same ones in the same order. */
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

  /** Undefined where all weights are 0, or there is nothing to pick from. */
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

/** After how many picks the weights have had exactly their shares. 0 where nothing is ever picked. */
export function periodOf(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const divisor = weights.reduce(greatestCommonDivisor, 0)
  return divisor === 0 ? 0 : total / divisor
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
