// SPDX-License-Identifier: Apache-2.0
// Prometheus metrics of a workload's outbound calls. The first hundred called Services have their own label. All others
// share one label, and so do all destinations outside the mesh, because programs choose those. Most calls have the same
// outcome as the call before, so the counters of that outcome are cached: finding them costs more than counting.

import type { CallRecord, EjectionRecord } from "@merlon/xclient"
import { CALL_TRANSPORTS, type CallTransport } from "@merlon/xds"
import { Durations, TalliedCounter, type Tally } from "@merlon/xserver/observe"
import { Counter, Registry } from "prom-client"

const MOST_DESTINATIONS = 100
const OTHERS = "(others)"
/** Labels that cannot be the name of a Service. */
const OUTSIDE = "(outside)"

/** How a call ended, and its counters. */
interface Outcome {
  readonly destination: string
  readonly inMesh: boolean
  readonly isOpaque: boolean
  readonly transport: CallTransport
  /** The class of the status: 2 for 2xx. */
  readonly hundreds: number
  readonly label: string
  readonly calls: Tally
  readonly received: Tally
  readonly sent: Tally
}

export class CallMetrics {
  readonly registry = new Registry()
  readonly #destinations = new Set<string>()
  readonly #requests: TalliedCounter
  readonly #connections: TalliedCounter
  readonly #received: TalliedCounter
  readonly #sent: TalliedCounter
  readonly #retries: TalliedCounter
  readonly #failures: TalliedCounter
  readonly #ejections: TalliedCounter
  readonly #durations: Durations<CallTransport>
  #last: Outcome | undefined

  /** `spans`: counters of the span exporter. */
  constructor(mesh: string, spans?: { readonly exported: number; readonly dropped: number }) {
    const prefix = `${mesh.replaceAll("-", "_")}_xclient_`
    const registers = [this.registry]
    const tallied = (name: string, help: string, ...labelNames: string[]): TalliedCounter =>
      new TalliedCounter({ name: `${prefix}${name}`, help, labelNames, registers })
    const requests = "requests that the workload sent, by destination, transport and status"
    this.#requests = tallied("requests_total", requests, "destination", "transport", "code")
    const connections = "connections of the workload that were carried as bytes, by destination and transport"
    this.#connections = tallied("connections_total", connections, "destination", "transport")
    this.#received = tallied("request_bytes_total", "bytes of content that the workload sent", "destination")
    this.#sent = tallied("response_bytes_total", "bytes of content that the workload got", "destination")
    this.#retries = tallied("retries_total", "further endpoints that were tried", "destination")
    const failures = "calls without an answer of the destination, by reason"
    this.#failures = tallied("failures_total", failures, "destination", "reason")
    const ejections = "endpoints that were ejected, by reason"
    this.#ejections = tallied("ejections_total", ejections, "destination", "reason")
    const from = "from the first byte of a request to the last of its response"
    this.#durations = new Durations(`${prefix}request_duration_seconds`, from, "transport", CALL_TRANSPORTS, registers)
    if (spans === undefined) return
    const repeated = (name: string, help: string, value: () => number): void => {
      new Counter({
        name: `${prefix}${name}`,
        help,
        registers,
        collect() {
          // Counted elsewhere. This only reports the number.
          this.reset()
          this.inc(value())
        },
      })
    }
    repeated("spans_exported_total", "spans that the collector accepted", () => spans.exported)
    repeated("spans_dropped_total", "spans that were lost", () => spans.dropped)
  }

  add(record: CallRecord): void {
    const { protocol, transport, bytesReceived, bytesSent, retries, failure, durationMs } = record
    const { label, calls, received, sent } = this.#outcome(record)
    calls.count++
    received.count += bytesReceived
    sent.count += bytesSent
    if (protocol !== "tcp") this.#durations.add(transport, durationMs / 1_000)
    if (retries > 0) this.#retries.of(label).count += retries
    if (failure !== undefined) this.#failures.of(label, failure).count++
  }

  ejected({ destination, reason }: EjectionRecord): void {
    this.#ejections.of(this.#label({ destination, inMesh: true }), reason).count++
  }

  #outcome(record: CallRecord): Outcome {
    const { destination, inMesh, transport } = record
    const isOpaque = record.protocol === "tcp"
    const hundreds = Math.floor(record.status / 100)
    const last = this.#last
    const same = last?.destination === destination && last.inMesh === inMesh && last.transport === transport
    if (same && last.isOpaque === isOpaque && last.hundreds === hundreds) return last
    const label = this.#label(record)
    const calls = isOpaque
      ? this.#connections.of(label, transport)
      : this.#requests.of(label, transport, `${hundreds}xx`)
    const counts = { calls, received: this.#received.of(label), sent: this.#sent.of(label) }
    this.#last = { destination, inMesh, isOpaque, transport, hundreds, label, ...counts }
    return this.#last
  }

  #label({ inMesh, destination }: Pick<CallRecord, "inMesh" | "destination">): string {
    if (!inMesh) return OUTSIDE
    if (this.#destinations.has(destination)) return destination
    if (this.#destinations.size >= MOST_DESTINATIONS) return OTHERS
    this.#destinations.add(destination)
    return destination
  }
}
