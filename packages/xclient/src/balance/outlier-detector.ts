// SPDX-License-Identifier: Apache-2.0
// Ejects endpoints of one destination that fail several times in a row, for longer each time, as `outlierDetection` of
// a MeshService specifies. There are no timers: ejections end, and earlier ones are forgotten, by comparing times.

import type { OutlierDetectionSpec, ServiceEndpoint } from "@merlon/xds"

/** `gateway`: 502, 503, 504, a timeout, or no connection. `5xx`: any other error of the server. */
export type EndpointOutcome = "success" | "5xx" | "gateway"

export interface Ejection {
  readonly endpoint: ServiceEndpoint
  /** The limit that was reached. */
  readonly reason: "consecutive-5xx" | "consecutive-gateway"
  readonly forMs: number
}

const DEFAULTS: Required<OutlierDetectionSpec> = {
  consecutive5xxErrors: 5,
  consecutiveGatewayErrors: 0,
  intervalMs: 10_000,
  baseEjectionMs: 30_000,
  maxEjectionPercent: 10,
  minHealthPercent: 0,
}
/** The longest ejection, unless the base is longer. */
const LONGEST_EJECTION_MS = 300_000

interface Record {
  errors: number
  gatewayErrors: number
  /** Number of ejections, as of the end of the last one. */
  ejections: number
  ejectedUntil: number
}

export class OutlierDetector {
  readonly #now: () => number
  readonly #ejected: (ejection: Ejection) => void
  readonly #records = new Map<string, Record>()
  #spec: Required<OutlierDetectionSpec> = DEFAULTS
  /** End of the last ejection: usually no endpoint is ejected, and no lookup is needed. */
  #lastEnd = 0

  constructor(now: () => number, ejected: (ejection: Ejection) => void = () => undefined) {
    this.#now = now
    this.#ejected = ejected
  }

  /** Drops the records of endpoints that no longer exist. */
  update(spec: OutlierDetectionSpec, endpoints: readonly ServiceEndpoint[]): void {
    this.#spec = { ...DEFAULTS, ...spec }
    const there = new Set(endpoints.map(keyOf))
    for (const key of this.#records.keys()) if (!there.has(key)) this.#records.delete(key)
  }

  isEjected(endpoint: ServiceEndpoint): boolean {
    const now = this.#now()
    return now < this.#lastEnd && now < (this.#records.get(keyOf(endpoint))?.ejectedUntil ?? 0)
  }

  /** Whether enough endpoints are left. If not, ejections are ignored, because they are probably wrong. */
  isTrustworthy(endpoints: readonly ServiceEndpoint[]): boolean {
    if (this.#now() >= this.#lastEnd || this.#spec.minHealthPercent === 0) return true
    const ready = endpoints.filter(({ healthy }) => healthy)
    const left = ready.filter(endpoint => !this.isEjected(endpoint)).length
    return left * 100 >= this.#spec.minHealthPercent * ready.length
  }

  /** `endpoints`: all endpoints of the destination. */
  record(endpoint: ServiceEndpoint, outcome: EndpointOutcome, endpoints: readonly ServiceEndpoint[]): void {
    const key = keyOf(endpoint)
    const known = this.#records.get(key)
    if (known === undefined && outcome === "success") return
    // Requests that were sent before the ejection, or because no other endpoint was left, provide no new information.
    if (this.isEjected(endpoint)) return
    const record = known ?? { errors: 0, gatewayErrors: 0, ejections: 0, ejectedUntil: 0 }
    this.#records.set(key, record)
    record.errors = outcome === "success" ? 0 : record.errors + 1
    record.gatewayErrors = outcome === "gateway" ? record.gatewayErrors + 1 : 0
    const reason = this.#reasonToEject(record)
    if (reason !== undefined && this.#mayEject(endpoint, endpoints)) this.#eject(endpoint, record, reason)
  }

  #reasonToEject({ errors, gatewayErrors }: Record): Ejection["reason"] | undefined {
    const { consecutive5xxErrors, consecutiveGatewayErrors } = this.#spec
    if (consecutiveGatewayErrors > 0 && gatewayErrors >= consecutiveGatewayErrors) return "consecutive-gateway"
    return consecutive5xxErrors > 0 && errors >= consecutive5xxErrors ? "consecutive-5xx" : undefined
  }

  /** INVARIANT: at least one ready endpoint is not ejected. */
  #mayEject(endpoint: ServiceEndpoint, endpoints: readonly ServiceEndpoint[]): boolean {
    const { maxEjectionPercent } = this.#spec
    const key = keyOf(endpoint)
    const others = endpoints.filter(one => one.healthy && keyOf(one) !== key)
    const ejected = others.filter(one => this.isEjected(one)).length
    if (maxEjectionPercent === 0 || ejected === others.length) return false
    return ejected === 0 || (ejected + 1) * 100 <= maxEjectionPercent * (others.length + 1)
  }

  #eject(endpoint: ServiceEndpoint, record: Record, reason: Ejection["reason"]): void {
    const { intervalMs, baseEjectionMs } = this.#spec
    const now = this.#now()
    const forgotten = Math.floor((now - record.ejectedUntil) / intervalMs)
    record.ejections = Math.max(0, record.ejections - forgotten) + 1
    const forMs = Math.min(baseEjectionMs * record.ejections, Math.max(baseEjectionMs, LONGEST_EJECTION_MS))
    record.ejectedUntil = now + forMs
    record.errors = 0
    record.gatewayErrors = 0
    this.#lastEnd = Math.max(this.#lastEnd, record.ejectedUntil)
    this.#ejected({ endpoint, reason, forMs })
  }
}

function keyOf({ address, port }: ServiceEndpoint): string {
  return `${address} ${port}`
}
