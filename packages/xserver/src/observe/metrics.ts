// SPDX-License-Identifier: Apache-2.0
// Counts for Prometheus. Labels come from closed sets or from the policies in force, never from a peer, so that their
// number has a bound. Children are looked up once per label set and kept: finding them costs more than counting.

import { Counter, Gauge, Histogram, Registry } from "prom-client"
import type { LimitName } from "../limits.js"
import type { RequestRecord, TlsFailure } from "./meters.js"
import { policyOf, shadowOf } from "./reason.js"

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export class Metrics {
  readonly registry = new Registry()
  readonly #requests: Counter
  readonly #durations: Histogram
  readonly #plaintext: Counter
  readonly #shadow: Counter
  readonly #tlsFailures: Counter
  readonly #limits: Counter
  readonly #upstreamFailures: Counter
  readonly #connections: Gauge
  readonly #revision: Gauge
  readonly #expiry: Gauge
  readonly #rejected: Counter
  readonly #outcomes = new Map<
    string,
    { readonly labels: [string, string, string, string]; readonly counter: Counter.Internal }
  >()
  readonly #timers = new Map<string, Histogram.Internal<string>>()

  constructor(mesh: string, sources: { readonly tokenHits: () => number; readonly tokenMisses: () => number }) {
    const prefix = `${mesh.replaceAll("-", "_")}_xserver_`
    const registers = [this.registry]
    const counter = (name: string, help: string, ...labelNames: string[]): Counter =>
      new Counter({ name: `${prefix}${name}`, help, labelNames, registers })
    const gauge = (name: string, help: string, ...labelNames: string[]): Gauge =>
      new Gauge({ name: `${prefix}${name}`, help, labelNames, registers })
    this.#requests = counter(
      "requests_total",
      "requests and TCP connections by outcome",
      "verdict",
      "stage",
      "policy",
      "code",
    )
    this.#durations = new Histogram({
      name: `${prefix}request_duration_seconds`,
      help: "from the first byte of a request to the last of its response",
      labelNames: ["verdict"],
      buckets: SECONDS,
      registers,
    })
    this.#plaintext = counter("plaintext_requests_total", "requests without mTLS by the port's mode", "mode")
    this.#shadow = counter(
      "shadow_differences_total",
      "requests that Shadow policies would decide otherwise",
      "verdict",
    )
    this.#tlsFailures = counter("tls_failures_total", "connections refused in the handshake by reason", "reason")
    this.#limits = counter("limits_hit_total", "what a limit refused, by its name", "limit")
    this.#upstreamFailures = counter("upstream_failures_total", "failures of the application by reason", "reason")
    this.#connections = gauge("connections", "open connections by workload port", "port")
    this.#revision = gauge("configuration_revision", "the revision in force")
    this.#expiry = gauge(
      "certificate_expiry_seconds",
      "when the workload's certificate expires, in seconds since the epoch",
    )
    this.#rejected = counter("configuration_rejected_total", "updates that were unusable; the last good one stayed")
    const read = (name: string, help: string, value: () => number): void => {
      new Gauge({
        name: `${prefix}${name}`,
        help,
        registers,
        collect() {
          this.set(value())
        },
      })
    }
    read("token_memory_hits", "tokens whose signature was remembered", sources.tokenHits)
    read("token_memory_misses", "tokens whose signature was checked", sources.tokenMisses)
    read("resident_memory_bytes", "resident memory of the process", () => process.memoryUsage.rss())
  }

  connectionOpened(port: number): void {
    this.#connections.inc({ port: String(port) })
  }

  connectionClosed(port: number): void {
    this.#connections.dec({ port: String(port) })
  }

  tlsFailed(reason: TlsFailure): void {
    this.#tlsFailures.inc({ reason })
  }

  limitHit(limit: LimitName): void {
    this.#limits.inc({ limit })
  }

  /** `policies` in force, as `namespace/name`: counts of others are dropped, or their labels would stay for ever. */
  configurationApplied(revision: number, policies: ReadonlySet<string>, certificateExpiry: number | undefined): void {
    this.#revision.set(revision)
    if (certificateExpiry !== undefined) this.#expiry.set(certificateExpiry)
    for (const [key, { labels }] of this.#outcomes) {
      if (labels[2] === "" || policies.has(labels[2])) continue
      this.#requests.remove(...labels)
      this.#outcomes.delete(key)
    }
  }

  configurationRejected(): void {
    this.#rejected.inc()
  }

  requestDone(record: RequestRecord, mode: string): void {
    const { judgement, status, peer, durationMs, upstreamFailure } = record
    const verdict = judgement?.verdict ?? "deny"
    const stage = judgement?.stage ?? "message"
    const policy = policyOf(judgement)
    const code = `${Math.floor(status / 100)}xx`
    this.#outcome(verdict, stage, policy, code).inc()
    this.#timer(verdict).observe(durationMs / 1_000)
    if (peer === undefined) this.#plaintext.inc({ mode })
    if (upstreamFailure !== undefined) this.#upstreamFailures.inc({ reason: upstreamFailure })
    if (shadowOf(judgement) !== undefined) this.#shadow.inc({ verdict })
  }

  #outcome(...labels: [verdict: string, stage: string, policy: string, code: string]): Counter.Internal {
    const key = labels.join(" ")
    let outcome = this.#outcomes.get(key)
    if (outcome === undefined) {
      outcome = { labels, counter: this.#requests.labels(...labels) }
      this.#outcomes.set(key, outcome)
    }
    return outcome.counter
  }

  #timer(verdict: string): Histogram.Internal<string> {
    let timer = this.#timers.get(verdict)
    if (timer === undefined) {
      timer = this.#durations.labels(verdict)
      this.#timers.set(verdict, timer)
    }
    return timer
  }
}
