// SPDX-License-Identifier: Apache-2.0
// Prometheus metrics of a workload's outbound calls. The first hundred called Services have their own label; the rest
// share one, and so do all destinations outside the mesh, because programs choose those.

import type { CallRecord, EjectionRecord } from "@merlon/xclient"
import { CALL_TRANSPORTS, type CallTransport } from "@merlon/xds"
import { Durations, TalliedCounter } from "@merlon/xserver/observe"
import { Counter, Registry } from "prom-client"

const MOST_DESTINATIONS = 100
const OTHERS = "(others)"
/** Names that no Service can have. */
const OUTSIDE = "(outside)"

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

  /** `spans`: where they are collected. */
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
          // Counted elsewhere; this only repeats the figure.
          this.reset()
          this.inc(value())
        },
      })
    }
    repeated("spans_exported_total", "spans that the collector took", () => spans.exported)
    repeated("spans_dropped_total", "spans that were lost", () => spans.dropped)
  }

  add(record: CallRecord): void {
    const { protocol, transport, status, bytesReceived, bytesSent, retries, failure, durationMs } = record
    const destination = this.#label(record)
    if (protocol === "tcp") this.#connections.of(destination, transport).count++
    else {
      this.#requests.of(destination, transport, `${Math.floor(status / 100)}xx`).count++
      this.#durations.add(transport, durationMs / 1_000)
    }
    this.#received.of(destination).count += bytesReceived
    this.#sent.of(destination).count += bytesSent
    if (retries > 0) this.#retries.of(destination).count += retries
    if (failure !== undefined) this.#failures.of(destination, failure).count++
  }

  ejected({ destination, reason }: EjectionRecord): void {
    this.#ejections.of(this.#label({ destination, inMesh: true }), reason).count++
  }

  #label({ inMesh, destination }: Pick<CallRecord, "inMesh" | "destination">): string {
    if (!inMesh) return OUTSIDE
    if (this.#destinations.has(destination)) return destination
    if (this.#destinations.size >= MOST_DESTINATIONS) return OTHERS
    this.#destinations.add(destination)
    return destination
  }
}
