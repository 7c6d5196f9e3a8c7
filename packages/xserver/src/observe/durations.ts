// SPDX-License-Identifier: Apache-2.0
// How long requests took, by verdict: a histogram whose buckets are plain numbers until somebody reads them.

import { Histogram, type MetricObjectWithValues, type MetricValueWithName, type Registry } from "prom-client"

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Label = "verdict" | "le"

class Timed {
  readonly buckets = SECONDS.map(() => 0)
  count = 0
  sum = 0
}

export class Durations extends Histogram<Label> {
  readonly #name: string
  readonly #timed = { allow: new Timed(), deny: new Timed() }

  constructor(name: string, help: string, registers: Registry[]) {
    super({ name, help, labelNames: ["verdict"], buckets: SECONDS, registers })
    this.#name = name
  }

  add(verdict: "allow" | "deny", seconds: number): void {
    const timed = this.#timed[verdict]
    timed.count++
    timed.sum += seconds
    for (let at = 0; at < SECONDS.length; at++) {
      if (seconds > (SECONDS[at] ?? 0)) continue
      timed.buckets[at] = (timed.buckets[at] ?? 0) + 1
      return
    }
  }

  /** What `getMetricsAsJSON` reads, by which we gather from workers and from ourselves alike; text of its own has none. */
  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    const values: MetricValueWithName<Label>[] = []
    for (const verdict of ["allow", "deny"] as const) {
      const { buckets, count, sum } = this.#timed[verdict]
      if (count === 0) continue
      const value = (suffix: string, number: number, le?: number | "+Inf"): void => {
        const labels = le === undefined ? { verdict } : { verdict, le }
        values.push({ metricName: `${this.#name}_${suffix}`, value: number, labels })
      }
      let below = 0
      for (const [at, bound] of SECONDS.entries()) {
        below += buckets[at] ?? 0
        value("bucket", below, bound)
      }
      value("bucket", count, "+Inf")
      value("sum", sum)
      value("count", count)
    }
    return { ...(await super.get()), values }
  }
}
