// SPDX-License-Identifier: Apache-2.0
// Request durations by one label: a histogram whose buckets are plain numbers until they are read.

import { Histogram, type MetricObjectWithValues, type MetricValueWithName, type Registry } from "prom-client"

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

class Timed {
  readonly buckets = SECONDS.map(() => 0)
  count = 0
  sum = 0
}

export class Durations<Value extends string> extends Histogram<string> {
  readonly #name: string
  readonly #label: string
  readonly #timed: ReadonlyMap<Value, Timed>

  /** `values`: all values of the label. */
  constructor(name: string, help: string, label: string, values: readonly Value[], registers: Registry[]) {
    super({ name, help, labelNames: [label], buckets: SECONDS, registers })
    this.#name = name
    this.#label = label
    this.#timed = new Map(values.map(value => [value, new Timed()]))
  }

  add(value: Value, seconds: number): void {
    const timed = this.#timed.get(value)
    if (timed === undefined) return
    timed.count++
    timed.sum += seconds
    for (let at = 0; at < SECONDS.length; at++) {
      if (seconds > (SECONDS[at] ?? 0)) continue
      timed.buckets[at] = (timed.buckets[at] ?? 0) + 1
      return
    }
  }

  /**
   * Called by `getMetricsAsJSON`, which collects the metrics of workers and of this process. The text format is not
   * supported.
   */
  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    const values: MetricValueWithName<string>[] = []
    for (const [labelled, { buckets, count, sum }] of this.#timed) {
      if (count === 0) continue
      const value = (suffix: string, number: number, le?: number | "+Inf"): void => {
        const labels = { [this.#label]: labelled, ...(le !== undefined && { le }) }
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
