// SPDX-License-Identifier: Apache-2.0
// Counts for Prometheus. Labels come from closed sets or from the current policies, never from a peer, so that their
// number is bounded. Most requests end like the one before, so its tally is kept: finding it costs more than counting.

import type { PolicyRef } from "@merlon/policy/authorization"
import { Counter, Gauge, Registry } from "prom-client"
import type { Judged } from "../enforcement/verdict.js"
import type { LimitName } from "../limits.js"
import { Durations } from "./durations.js"
import type { RequestRecord, TlsFailure } from "./meters.js"
import { policyOf, shadowOf, shadowPolicyOf } from "./reason.js"
import { SourceCounter } from "./source-counter.js"
import { TalliedCounter, type Tally } from "./tallied-counter.js"

type Stage = Judged["stage"] | "message"

/** How a request ended, and the tally that counts such requests. */
interface Outcome {
  readonly verdict: Judged["verdict"]
  readonly stage: Stage
  readonly policy: PolicyRef | undefined
  /** First digit of the status: 2 for 2xx. */
  readonly hundreds: number
  readonly tally: Tally
}

export class Metrics {
  readonly registry = new Registry()
  readonly #requests: TalliedCounter
  readonly #sources: SourceCounter
  readonly #durations: Durations<Judged["verdict"]>
  readonly #plaintext: TalliedCounter
  readonly #shadow: TalliedCounter
  readonly #tlsFailures: Counter
  readonly #limits: Counter
  readonly #endedByChange: Counter
  readonly #upstreamFailures: Counter
  readonly #connections: Gauge
  readonly #revision: Gauge
  readonly #expiry: Gauge
  readonly #rejected: Counter
  #last: Outcome | undefined
  #lastMode: { readonly mode: string; readonly tally: Tally } | undefined

  constructor(
    mesh: string,
    sources: {
      readonly tokenHits: () => number
      readonly tokenMisses: () => number
      readonly unjudgedBytes?: () => number
      /** Set if spans are collected. */
      readonly spans?: () => { readonly exported: number; readonly dropped: number } | undefined
    },
  ) {
    const prefix = `${mesh.replaceAll("-", "_")}_xserver_`
    const registers = [this.registry]
    const counter = (name: string, help: string, ...labelNames: string[]): Counter =>
      new Counter({ name: `${prefix}${name}`, help, labelNames, registers })
    const gauge = (name: string, help: string, ...labelNames: string[]): Gauge =>
      new Gauge({ name: `${prefix}${name}`, help, labelNames, registers })
    const tallied = (name: string, help: string, ...labelNames: string[]): TalliedCounter =>
      new TalliedCounter({ name: `${prefix}${name}`, help, labelNames, registers })
    this.#requests = tallied(
      "requests_total",
      "requests and TCP connections by outcome",
      "verdict",
      "stage",
      "policy",
      "code",
    )
    this.#sources = new SourceCounter(`${prefix}requests_by_source_total`, registers)
    const from = "from the first byte of a request to the last of its response"
    this.#durations = new Durations(`${prefix}request_duration_seconds`, from, "verdict", ["allow", "deny"], registers)
    this.#plaintext = tallied("plaintext_requests_total", "requests without mTLS by the port's mode", "mode")
    this.#shadow = tallied(
      "shadow_differences_total",
      "requests that Shadow policies would decide differently, by verdict, and by policy if one rule would decide",
      "verdict",
      "policy",
    )
    this.#tlsFailures = counter("tls_failures_total", "connections rejected in the handshake, by reason", "reason")
    this.#limits = counter("limits_hit_total", "requests and connections that a limit rejected, by limit", "limit")
    this.#endedByChange = counter(
      "ended_by_change_total",
      "requests, tunnels and connections that a change of policies, mode or revocations ended",
      "protocol",
      "stage",
    )
    this.#upstreamFailures = counter("upstream_failures_total", "failures of the application by reason", "reason")
    this.#connections = gauge("connections", "open connections by workload port", "port")
    this.#revision = gauge("configuration_revision", "the revision in force")
    this.#expiry = gauge(
      "certificate_expiry_seconds",
      "when the workload's certificate expires, in seconds since the epoch",
    )
    this.#rejected = counter(
      "configuration_rejected_total",
      "rejected updates; the last valid configuration stayed in force",
    )
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
    const counted = (name: string, help: string, value: () => number): void => {
      new Counter({
        name: `${prefix}${name}`,
        help,
        registers,
        collect() {
          // The figure is counted elsewhere and only copied here.
          this.reset()
          this.inc(value())
        },
      })
    }
    counted("token_memory_hits_total", "tokens whose signature was remembered", sources.tokenHits)
    counted("token_memory_misses_total", "tokens whose signature was checked", sources.tokenMisses)
    const { spans } = sources
    if (spans !== undefined) {
      counted("spans_exported_total", "spans that the collector accepted", () => spans()?.exported ?? 0)
      counted(
        "spans_dropped_total",
        "spans that were dropped because too many waited or the collector rejected them",
        () => spans()?.dropped ?? 0,
      )
    }
    read(
      "unjudged_bytes",
      "bytes that callers have sent and xserver has not evaluated yet",
      sources.unjudgedBytes ?? (() => 0),
    )
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

  endedByChange(protocol: string, stage: string): void {
    this.#endedByChange.inc({ protocol, stage })
  }

  limitHit(limit: LimitName): void {
    this.#limits.inc({ limit })
  }

  /**
   * `policies`: the current ones, as `namespace/name`. Counts of others are dropped, or their labels would stay
   * forever.
   */
  configurationApplied(revision: number, policies: ReadonlySet<string>, certificateExpiry: number | undefined): void {
    this.#revision.set(revision)
    if (certificateExpiry !== undefined) this.#expiry.set(certificateExpiry)
    const isGone = (policy: string): boolean => policy !== "" && !policies.has(policy)
    this.#requests.dropWhere(([, , policy = ""]) => isGone(policy))
    this.#shadow.dropWhere(([, policy = ""]) => isGone(policy))
    this.#last = undefined
  }

  configurationRejected(): void {
    this.#rejected.inc()
  }

  requestDone(record: RequestRecord, mode: string): void {
    const { judgement, status, peer, durationMs, upstreamFailure } = record
    const verdict = judgement?.verdict ?? "deny"
    this.#outcome(verdict, judgement?.stage ?? "message", policyOf(judgement), Math.floor(status / 100)).tally.count++
    this.#sources.add(peer, verdict)
    this.#durations.add(verdict, durationMs / 1_000)
    if (peer === undefined) this.#plaintextIn(mode).count++
    if (upstreamFailure !== undefined) this.#upstreamFailures.inc({ reason: upstreamFailure })
    if (shadowOf(judgement) !== undefined) this.#shadow.of(verdict, nameOf(shadowPolicyOf(judgement))).count++
  }

  #plaintextIn(mode: string): Tally {
    if (this.#lastMode?.mode !== mode) this.#lastMode = { mode, tally: this.#plaintext.of(mode) }
    return this.#lastMode.tally
  }

  #outcome(verdict: Judged["verdict"], stage: Stage, policy: PolicyRef | undefined, hundreds: number): Outcome {
    const last = this.#last
    const same = last?.verdict === verdict && last.stage === stage && last.policy === policy
    if (same && last.hundreds === hundreds) return last
    const tally = this.#requests.of(verdict, stage, nameOf(policy), `${hundreds}xx`)
    this.#last = { verdict, stage, policy, hundreds, tally }
    return this.#last
  }
}

function nameOf(policy: PolicyRef | undefined): string {
  return policy === undefined ? "" : `${policy.namespace}/${policy.name}`
}
