// SPDX-License-Identifier: Apache-2.0
// The control plane's Prometheus metrics. Label values come from closed sets or, for issuers, from a limited number of
// policy values; never from a peer.

import { Counter, Gauge, Histogram, Registry } from "prom-client"
import type { AuthorityFacts } from "../authority/expiry.js"
import type { ProofOutcome } from "../proofs/prover.js"
import { oneLine } from "./one-line.js"

const PUSH_TYPES = ["proxy", "listener", "route", "cluster", "endpoint", "mesh", "other"] as const
export type PushType = (typeof PUSH_TYPES)[number]
export type ReviewOutcome = "allowed" | "rejected" | "unreadable" | "failed"

export interface IssuerKeys {
  readonly issuer: string
  /** Milliseconds since the epoch; undefined if there never were keys. */
  readonly fetchedAt: number | undefined
  readonly failing: boolean
}

/** Values that are looked up on each scrape instead of being tracked. */
export interface MetricSources {
  readonly connectedProxies: () => number
  readonly overdueProxies: () => number
  readonly isLeader: () => boolean
  readonly issuers: () => Iterable<IssuerKeys>
  /** Number of stored policies that cannot be read, by what is in effect instead. */
  readonly unreadablePolicies: () => ReadonlyMap<string, number>
  /** By kind: whether its copy is complete, and the time since its watch last received anything. */
  readonly reflectors: () => Iterable<{ readonly kind: string; readonly synced: boolean; readonly silentMs: number }>
  /** Undefined until there is an authority. */
  readonly authority: () => AuthorityFacts | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type SetValue = (labels: readonly string[], value: number) => void

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const MOST_ISSUERS = 100
const OTHERS = "(others)"

export class ControlMetrics {
  readonly registry = new Registry()
  readonly #prefix: string
  readonly #pushes: Map<PushType, number>
  readonly #bytes: Map<PushType, number>
  readonly #acknowledgements: Histogram
  readonly #propagation: Histogram
  readonly #rejected: Counter
  readonly #fetchFailures: Counter
  readonly #reviews: Counter
  readonly #statusWrites: Counter
  readonly #proofs: Counter
  /** Issuers with a label of their own. INVARIANT: at most MOST_ISSUERS. */
  readonly #issuers = new Set<string>()

  constructor(mesh: string, sources: MetricSources) {
    this.#prefix = `${mesh.replaceAll("-", "_")}_control_`
    this.#pushes = this.#sums("pushes_total", "responses sent to proxies and clients by type")
    this.#bytes = this.#sums("push_bytes_total", "bytes of the resources in them by type")
    this.#acknowledgements = this.#histogram("push_to_ack_seconds", "from a response to its acknowledgement", "type")
    this.#propagation = this.#histogram(
      "write_to_last_ack_seconds",
      "from the observation of a change to the last acknowledgement by a connected proxy",
    )
    this.#rejected = this.#counter(
      "rejected_updates_total",
      "responses that a proxy or client rejected, by type",
      "type",
    )
    this.#fetchFailures = this.#counter("key_set_fetch_failures_total", "failed fetches of keys by issuer", "issuer")
    this.#reviews = this.#counter("admission_reviews_total", "admission reviews by kind and outcome", "kind", "outcome")
    this.#statusWrites = this.#counter("status_writes_total", "statuses written by kind", "kind")
    this.#proofs = this.#counter("proofs_total", "queries to the proof thread by outcome", "outcome")
    this.#collected(sources)
  }

  pushed(type: PushType, bytes: number): void {
    this.#pushes.set(type, (this.#pushes.get(type) ?? 0) + 1)
    this.#bytes.set(type, (this.#bytes.get(type) ?? 0) + bytes)
  }

  acknowledged(type: PushType, seconds: number): void {
    this.#acknowledgements.observe({ type }, seconds)
  }

  rejected(type: PushType): void {
    this.#rejected.inc({ type })
  }

  propagated(seconds: number): void {
    this.#propagation.observe(seconds)
  }

  keyFetchFailed(issuer: string): void {
    this.#fetchFailures.inc({ issuer: this.#issuerLabel(issuer) })
  }

  /** `kind` is one that our webhooks are registered for. */
  reviewed(kind: string, outcome: ReviewOutcome): void {
    this.#reviews.inc({ kind, outcome })
  }

  statusWritten(kind: string): void {
    this.#statusWrites.inc({ kind })
  }

  proved(outcome: ProofOutcome): void {
    this.#proofs.inc({ outcome })
  }

  #issuerLabel(issuer: string): string {
    const label = oneLine(issuer, 100)
    if (this.#issuers.has(label)) return label
    if (this.#issuers.size >= MOST_ISSUERS) return OTHERS
    this.#issuers.add(label)
    return label
  }

  #collected(sources: MetricSources): void {
    this.#read("connected_proxies", "proxies that are connected", sources.connectedProxies)
    this.#read("overdue_acknowledgements", "connected proxies with an overdue acknowledgement", sources.overdueProxies)
    this.#read("leader", "1 where this replica writes statuses and rotates", () => (sources.isLeader() ? 1 : 0))
    this.#read("resident_memory_bytes", "resident memory of the process", () => process.memoryUsage.rss())
    const unreadable = "stored policies that cannot be read, by what is enforced instead"
    this.#each("policies_unreadable", unreadable, ["instead"], set => {
      for (const [instead, count] of sources.unreadablePolicies()) set([instead], count)
    })
    this.#each("key_set_age_seconds", "age of the keys in force by issuer", ["issuer"], set => {
      for (const [label, { fetchedAt }] of this.#listed(sources)) {
        if (fetchedAt !== undefined) set([label], Math.max(0, sources.now() - fetchedAt) / 1_000)
      }
    })
    this.#each("key_set_failing", "1 where the last fetch of an issuer's keys failed", ["issuer"], set => {
      for (const [label, { failing }] of this.#listed(sources)) set([label], failing ? 1 : 0)
    })
    this.#each("reflector_synced", "1 where the copy of a kind is complete", ["kind"], set => {
      for (const { kind, synced } of sources.reflectors()) set([kind], synced ? 1 : 0)
    })
    this.#each("reflector_silent_seconds", "time since the last event of a kind's watch", ["kind"], set => {
      for (const { kind, silentMs } of sources.reflectors()) set([kind], silentMs / 1_000)
    })
    this.#authority(sources.authority)
  }

  #authority(facts: MetricSources["authority"]): void {
    const expiry =
      "expiry of the control plane's certificates, in seconds since the epoch; `listener` is set for serving certificates"
    this.#each("certificate_expiry_seconds", expiry, ["certificate", "listener"], set => {
      const now = facts()
      if (now === undefined) return
      set(["root", ""], now.rootNotAfter / 1_000)
      set(["signer", ""], now.signerNotAfter / 1_000)
      for (const [listener, notAfter] of now.servingNotAfter) set(["serving", listener], notAfter / 1_000)
    })
    new Counter({
      name: `${this.#prefix}certificate_requests_total`,
      help: "signing requests by outcome",
      labelNames: ["outcome"],
      registers: [this.registry],
      collect() {
        // The authority counts; this only copies its numbers.
        this.reset()
        for (const [outcome, count] of Object.entries(facts()?.requests ?? {})) this.inc({ outcome }, count)
      },
    })
    this.#each("rotation_phase", "1 for the current phase of root rotation", ["phase"], set => {
      const phase = facts()?.phase
      if (phase !== undefined) set([phase], 1)
    })
    this.#read("revoked_identities", "identities that are revoked", () => facts()?.revokedIdentities ?? 0)
    this.#read(
      "revoked_certificates",
      "certificates that are revoked by serial number",
      () => facts()?.revokedSerials ?? 0,
    )
    this.#read(
      "revocations_unreadable",
      "revocation entries that have no effect because they cannot be read",
      () => facts()?.revocationErrors ?? 0,
    )
    // The second is the former name of the first, kept for one version.
    for (const name of ["authority_rejected_changes_total", "authority_refused_changes_total"])
      new Counter({
        name: `${this.#prefix}${name}`,
        help: "changes of the authority that were rejected",
        registers: [this.registry],
        collect() {
          this.reset()
          this.inc(facts()?.rejectedChanges ?? 0)
        },
      })
  }

  /**
   * Failing issuers come first, so that many healthy ones cannot hide them. Of several key sets of an issuer, the worst
   * counts.
   */
  #listed(sources: MetricSources): ReadonlyMap<string, IssuerKeys> {
    const listed = new Map<string, IssuerKeys>()
    const all = [...sources.issuers()].sort((a, b) => Number(b.failing) - Number(a.failing))
    for (const keys of all) {
      const label = oneLine(keys.issuer, 100)
      if (listed.size >= MOST_ISSUERS) break
      if (!listed.has(label)) listed.set(label, keys)
    }
    return listed
  }

  /** Sums by type. Frequent events are only added up here; the counter reads the sums on each scrape. */
  #sums(name: string, help: string): Map<PushType, number> {
    const sums = new Map<PushType, number>()
    new Counter({
      name: `${this.#prefix}${name}`,
      help,
      labelNames: ["type"],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [type, sum] of sums) this.inc({ type }, sum)
      },
    })
    return sums
  }

  #counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name: `${this.#prefix}${name}`, help, labelNames, registers: [this.registry] })
  }

  #histogram(name: string, help: string, ...labelNames: string[]): Histogram {
    const registers = [this.registry]
    return new Histogram({ name: `${this.#prefix}${name}`, help, labelNames, buckets: SECONDS, registers })
  }

  #read(name: string, help: string, value: () => number): void {
    new Gauge({
      name: `${this.#prefix}${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(value())
      },
    })
  }

  #each(name: string, help: string, labelNames: string[], fill: (set: SetValue) => void): void {
    new Gauge({
      name: `${this.#prefix}${name}`,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        // Removed objects must not keep their last value forever.
        this.reset()
        fill((labels, value) => this.labels(...labels).set(value))
      },
    })
  }
}
