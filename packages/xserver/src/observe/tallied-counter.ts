// SPDX-License-Identifier: Apache-2.0
// A counter that every request increments: an increment is one addition to a field, and the registry is updated when it
// is read. Updating the registry each time would copy, check and hash the labels, which costs more than judging the
// request.

import { Counter, type CounterConfiguration } from "prom-client"

export interface Tally {
  /** Counted since the registry was last updated. */
  count: number
  readonly labels: readonly string[]
}

export class TalliedCounter {
  readonly #counter: Counter
  readonly #tallies = new Map<string, Tally>()

  constructor(configuration: Omit<CounterConfiguration<string>, "collect">) {
    this.#counter = new Counter({ ...configuration, collect: () => this.#updateCounter() })
  }

  /** The only tally of these labels, for the caller to keep and increment. */
  of(...labels: readonly string[]): Tally {
    const key = labels.join(" ")
    let tally = this.#tallies.get(key)
    if (tally === undefined) {
      tally = { count: 0, labels }
      this.#tallies.set(key, tally)
    }
    return tally
  }

  /** Drops the counts of unwanted labels; holders of their tallies must release them. */
  dropWhere(unwanted: (labels: readonly string[]) => boolean): void {
    for (const [key, { labels }] of this.#tallies) {
      if (!unwanted(labels)) continue
      this.#counter.remove(...labels)
      this.#tallies.delete(key)
    }
  }

  #updateCounter(): void {
    for (const tally of this.#tallies.values()) {
      if (tally.count === 0) continue
      this.#counter.labels(...tally.labels).inc(tally.count)
      tally.count = 0
    }
  }
}
