// SPDX-License-Identifier: Apache-2.0
// Acts as the kubelet for declared workloads: the streams of their proxies determine the status of their Pods. Pods
// that a kubelet runs are never changed. Each replica reverts only what it wrote itself; the leader reverts what no
// replica reports any more.

import type { MeshNames } from "@merlon/policy/mesh"
import { ConcurrencyLimit } from "@merlon/wire/limits"
import type { ClientNode } from "@merlon/xds/server"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import type { Reflected } from "../kubernetes/reflector.js"
import { type KubernetesObject, PODS } from "../kubernetes/resource-type.js"
import { isDeclared } from "../registry/application-ports.js"
import { isReady } from "../registry/pod-reading.js"
import { type Scheduler, SYSTEM_SCHEDULER } from "../snapshot/burst.js"
import type { PresenceSink } from "./distribution.js"
import type { ProxyLedger } from "./ledger.js"
import {
  type Absence,
  addressOfNode,
  exposedBy,
  isApplicationReady,
  presencePatch,
  readyReporterOf,
} from "./pod-presence.js"

export interface DeclaredPresenceOptions {
  readonly client: KubernetesClient
  readonly pods: Reflected<KubernetesObject>
  readonly names: MeshNames
  /** This replica's name. */
  readonly replica: string
  readonly onError: (key: string, error: unknown) => void
  readonly scheduler?: Scheduler
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
  /** How long a proxy may be disconnected before its workload counts as not ready. */
  readonly graceMs?: number
}

/** The status to report for a Pod. `forAll`: on behalf of every replica, not only of this one. */
interface StatusReport {
  readonly ready: boolean
  readonly absence?: Absence
  readonly forAll: boolean
}

const READY: StatusReport = { ready: true, forAll: false }
/** Overrides a ready status of any replica: the proxy is connected here now, and reports otherwise. */
const APPLICATION_NOT_READY: StatusReport = { ready: false, absence: "ApplicationNotReady", forAll: true }

interface TrackedPod {
  streams: number
  address: string | undefined
  /** Whether the proxy last reported that its application is ready. */
  applicationReady: boolean
  /** Ports at which the proxy can be bypassed, as it reports; undefined if no proxy has reported here. */
  exposed: readonly number[] | undefined
  /** A status that is not written yet. */
  pending: StatusReport | undefined
  writing: boolean
  failures: number
  /** Cancels the end of the grace period or the next attempt, whichever is pending. */
  timer: (() => void) | undefined
}

const GRACE_MS = 10_000
/**
 * After a restart thousands of proxies reconnect one by one; during that time, a missing proxy does not count as gone.
 */
const RETURN_MS = 120_000
/** After a restart every Pod has to be written; token reviews and the Lease must not wait behind these writes. */
const WRITES_AT_ONCE = 8
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000

export class DeclaredPresence implements PresenceSink {
  readonly #options: DeclaredPresenceOptions
  readonly #scheduler: Scheduler
  readonly #now: () => number
  readonly #grace: number
  readonly #tracked = new Map<string, TrackedPod>()
  readonly #writes = new ConcurrencyLimit({ atOnce: WRITES_AT_ONCE })
  readonly #missingSince = new Map<string, number>()
  readonly #unfollow: () => void
  readonly #startedAt: number
  #lastArrival = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(options: DeclaredPresenceOptions) {
    this.#options = options
    this.#scheduler = options.scheduler ?? SYSTEM_SCHEDULER
    this.#now = options.now ?? Date.now
    this.#grace = options.graceMs ?? GRACE_MS
    this.#startedAt = this.#scheduler.now()
    this.#unfollow = options.pods.onChange(({ key, object }) => {
      const tracked = this.#tracked.get(key)
      if (tracked === undefined || tracked.streams === 0 || object === undefined || isReady(object)) return
      // Declared again under a connected proxy: the new object has no status yet. A Pod that is ready is left alone,
      // since two replicas with a stream each would otherwise correct each other forever.
      if (tracked.applicationReady) this.#report(key, tracked, READY)
    })
  }

  enforcing(key: string, node: ClientNode): () => void {
    const pod = this.#options.pods.items.get(key)
    if (pod === undefined || !isDeclared(pod, this.#options.names)) return () => {}
    this.#lastArrival = this.#scheduler.now()
    const tracked = this.#track(key)
    tracked.streams++
    tracked.address = addressOfNode(node) ?? tracked.address
    tracked.applicationReady = isApplicationReady(node)
    tracked.exposed = exposedBy(node)
    this.#report(key, tracked, tracked.applicationReady ? READY : APPLICATION_NOT_READY)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      tracked.streams--
      if (tracked.streams > 0 || this.#stopped) return
      this.#await(tracked, this.#grace, () => this.#report(key, tracked, { ready: false, forAll: false }))
    }
  }

  /**
   * Run by the leader from time to time: finds Pods that are marked ready although no replica has had their proxy for
   * longer than the grace period.
   */
  sweep(ledger: ProxyLedger): void {
    const now = this.#scheduler.now()
    if (now - this.#startedAt < RETURN_MS && now - this.#lastArrival < this.#grace) {
      this.#missingSince.clear()
      return
    }
    const missing = new Set<string>()
    for (const [key, pod] of this.#options.pods.items) {
      if (!isDeclared(pod, this.#options.names) || !isReady(pod) || ledger.proxies.has(key)) continue
      missing.add(key)
      const since = this.#missingSince.get(key) ?? now
      this.#missingSince.set(key, since)
      if (now - since < this.#grace || this.#tracked.has(key)) continue
      this.#report(key, this.#track(key), { ready: false, forAll: true })
    }
    for (const key of [...this.#missingSince.keys()]) if (!missing.has(key)) this.#missingSince.delete(key)
  }

  stop(): void {
    this.#stopped = true
    this.#unfollow()
    for (const { timer } of this.#tracked.values()) timer?.()
    this.#tracked.clear()
  }

  #track(key: string): TrackedPod {
    const tracked = this.#tracked.get(key) ?? {
      streams: 0,
      address: undefined,
      applicationReady: true,
      exposed: undefined,
      pending: undefined,
      writing: false,
      failures: 0,
      timer: undefined,
    }
    this.#tracked.set(key, tracked)
    return tracked
  }

  #await(tracked: TrackedPod, milliseconds: number, act: () => void): void {
    tracked.timer?.()
    tracked.timer = this.#scheduler.later(() => {
      tracked.timer = undefined
      act()
    }, milliseconds)
  }

  /** The last report counts; one is written at a time. */
  #report(key: string, tracked: TrackedPod, report: StatusReport): void {
    if (this.#stopped) return
    tracked.timer?.()
    tracked.timer = undefined
    tracked.pending = report
    if (!tracked.writing) void this.#write(key, tracked)
  }

  /** Never fails: errors are reported and the write is retried. */
  async #write(key: string, tracked: TrackedPod): Promise<void> {
    tracked.writing = true
    while (tracked.pending !== undefined && tracked.timer === undefined && !this.#stopped) {
      const report = tracked.pending
      tracked.pending = undefined
      try {
        await this.#writes.run(async () => {
          if (!this.#stopped) await this.#patch(key, tracked, report)
        })
        tracked.failures = 0
      } catch (error) {
        this.#failed(key, tracked, report, error)
      }
    }
    tracked.writing = false
    if (tracked.streams === 0 && tracked.pending === undefined && tracked.timer === undefined) this.#tracked.delete(key)
  }

  async #patch(key: string, { address, exposed }: TrackedPod, { ready, absence, forAll }: StatusReport): Promise<void> {
    const { client, pods, names, replica } = this.#options
    const pod = pods.items.get(key)
    if (pod === undefined || !isDeclared(pod, names)) return
    // Another replica has the proxy now, so its report stands.
    if (!ready && !forAll && readyReporterOf(pod) !== replica) return
    const captured = exposed && { type: `${names.domain}/Captured`, exposed }
    const presence = { ready, ...(absence && { absence }), address, replica, ...(captured && { captured }) }
    const patch = presencePatch(pod, presence, this.#now())
    if (patch === undefined) return
    const { name, namespace = "default" } = pod.metadata
    await client.patch(PODS, name, patch, { namespace, subresource: "status", type: "merge" })
  }

  #failed(key: string, tracked: TrackedPod, report: StatusReport, error: unknown): void {
    // The Pod was deleted, so there is nothing to report.
    if (error instanceof ApiError && error.code === 404) return
    this.#options.onError(key, error)
    if (this.#stopped) return
    tracked.pending ??= report
    // The end of a grace period matters more than another attempt.
    if (tracked.timer !== undefined) return
    const delay = Math.min(RETRY_MS * 2 ** tracked.failures, MAX_RETRY_MS)
    tracked.failures = Math.min(tracked.failures + 1, 16)
    this.#await(tracked, delay, () => {
      if (!tracked.writing) void this.#write(key, tracked)
    })
  }
}
