// SPDX-License-Identifier: Apache-2.0
// Measures how long a change takes from its observation to the last acknowledgement by a connected proxy, and which
// proxies lag. A proxy with the newest version has acknowledged every earlier change; a proxy that disconnects is not
// waited for.

import type { ProxyLedger, ProxyRecord } from "../distribution/ledger.js"
import type { ProxyView, ProxyViews } from "../snapshot/proxy-views.js"
import { type Clock, systemClock } from "./clock.js"
import type { ControlSpan, ControlTracer } from "./tracer.js"
import { NO_TRACER } from "./traces.js"

export interface PropagationOptions {
  readonly views: ProxyViews
  readonly ledger: ProxyLedger
  readonly propagated: (seconds: number) => void
  readonly tracer?: ControlTracer
  readonly clock?: Clock
}

interface Spread {
  readonly since: number
  readonly waitingFor: Set<string>
  readonly span: ControlSpan
}

const OVERDUE = 30_000
/** Bounds memory if a proxy never acknowledges. */
const MOST_OPEN = 256
const MOST_RECENT = 100

export class Propagation {
  readonly #options: PropagationOptions
  readonly #clock: Clock
  readonly #open = new Set<Spread>()
  /** Since when each proxy lags. */
  readonly #behind = new Map<string, number>()
  readonly #stops: readonly (() => void)[]
  readonly #recent: number[] = []

  constructor(options: PropagationOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#stops = [
      options.views.onChange(workloads => this.#viewsChanged(workloads)),
      options.ledger.onChange(proxies => {
        for (const proxy of proxies) this.#proxyChanged(proxy)
      }),
    ]
  }

  /** For how many milliseconds the proxy has not enforced its current view; 0 if it enforces it. */
  lagOf(proxy: string): number {
    const since = this.#behind.get(proxy)
    return since === undefined ? 0 : this.#clock.monotonic() - since
  }

  /** How long the last changes took, in milliseconds, oldest first. */
  get recent(): readonly number[] {
    return this.#recent
  }

  get overdue(): number {
    let overdue = 0
    for (const proxy of this.#behind.keys()) if (this.lagOf(proxy) >= OVERDUE) overdue++
    return overdue
  }

  stop(): void {
    for (const stop of this.#stops) stop()
    for (const spread of this.#open) this.#close(spread)
  }

  #viewsChanged(workloads: ReadonlySet<string>): void {
    const waitingFor = new Set<string>()
    for (const workload of workloads) {
      if (this.#isBehind(workload)) waitingFor.add(workload)
      else this.#caughtUp(workload)
    }
    if (waitingFor.size === 0) return
    const since = this.#clock.monotonic()
    for (const proxy of waitingFor) if (!this.#behind.has(proxy)) this.#behind.set(proxy, since)
    const span = (this.#options.tracer ?? NO_TRACER).start("change", { "mesh.proxies": waitingFor.size })
    this.#open.add({ since, waitingFor, span })
    for (const spread of this.#open) {
      if (this.#open.size <= MOST_OPEN) break
      spread.span.fail("dropped: too many changes are open")
      this.#close(spread)
    }
  }

  #proxyChanged(proxy: string): void {
    if (!this.#isBehind(proxy)) this.#caughtUp(proxy)
    else if (!this.#behind.has(proxy)) this.#behind.set(proxy, this.#clock.monotonic())
  }

  #isBehind(proxy: string): boolean {
    const record = this.#options.ledger.proxies.get(proxy)
    const view = this.#options.views.get(proxy)
    return record !== undefined && view !== undefined && !hasAll(record, view)
  }

  #caughtUp(proxy: string): void {
    if (!this.#behind.delete(proxy)) return
    const gone = !this.#options.ledger.proxies.has(proxy)
    for (const spread of this.#open) {
      if (!spread.waitingFor.delete(proxy) || spread.waitingFor.size > 0) continue
      // The last proxy disconnected instead of acknowledging, so this is not a measurement.
      if (gone) spread.span.fail("the last proxy disconnected")
      else this.#took(this.#clock.monotonic() - spread.since)
      this.#close(spread)
    }
  }

  #took(milliseconds: number): void {
    this.#options.propagated(milliseconds / 1_000)
    this.#recent.push(milliseconds)
    if (this.#recent.length > MOST_RECENT) this.#recent.shift()
  }

  #close(spread: Spread): void {
    this.#open.delete(spread)
    spread.span.end()
  }
}

/** Number of resources of its view that the proxy does not enforce in their current version. */
export function missingResources(record: ProxyRecord, view: ProxyView): number {
  let missing = 0
  for (const [name, { version }] of view.resources) if (record.enforced.get(name)?.version !== version) missing++
  return missing
}

function hasAll(record: ProxyRecord, view: ProxyView): boolean {
  if (record.enforced === view.resources) return true
  // Further resources count as well: a removed policy is enforced until the proxy reports otherwise.
  return record.enforced.size === view.resources.size && missingResources(record, view) === 0
}
