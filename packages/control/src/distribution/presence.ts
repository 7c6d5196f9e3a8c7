// SPDX-License-Identifier: Apache-2.0
// Acts as the kubelet for declared workloads: their proxies' streams determine the status of their Pods. Pods that a
// kubelet runs are never touched. Each replica reverts only what it wrote itself; the leader reverts what no replica
// reports any more.

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
import { type Absence, addressOfNode, exposedBy, isApplicationReady, presencePatch, witnessOf } from "./pod-presence.js"

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
  /** How long a proxy may be away before its workload counts as not ready. */
  readonly graceMs?: number
}

/** What is to be said of a Pod. `forAll`: in the name of every replica, not only of this one. */
interface Word {
  readonly ready: boolean
  readonly absence?: Absence
  readonly forAll: boolean
}

const READY: Word = { ready: true, forAll: false }
/** Whichever replica said that it is ready: the proxy is here now, and it says otherwise. */
const APPLICATION_NOT_READY: Word = { ready: false, absence: "ApplicationNotReady", forAll: true }

interface Charge {
  streams: number
  address: string | undefined
  /** What the proxy last said of its application. */
  applicationReady: boolean
  /** Ports at which it answers past the proxy, by the proxy's word; undefined where no proxy has spoken here. */
  exposed: readonly number[] | undefined
  /** Not written yet. */
  pending: Word | undefined
  writing: boolean
  failures: number
  /** Calls off the end of the grace or the next attempt, whichever is awaited. */
  timer: (() => void) | undefined
}

const GRACE_MS = 10_000
/** After a restart thousands of proxies come back one after the other; while they do, none that is not here yet is gone. */
const RETURN_MS = 120_000
/** After a restart every Pod is to be written; tokens to be verified and the lease must not wait behind them. */
const WRITES_AT_ONCE = 8
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000

export class DeclaredPresence implements PresenceSink {
  readonly #options: DeclaredPresenceOptions
  readonly #scheduler: Scheduler
  readonly #now: () => number
  readonly #grace: number
  readonly #charges = new Map<string, Charge>()
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
      const charge = this.#charges.get(key)
      if (charge === undefined || charge.streams === 0 || object === undefined || isReady(object)) return
      // Declared anew under a proxy that never left: the new document knows nothing of it. A Pod that is ready is left
      // alone, as two replicas that both have a stream would correct each other for ever.
      if (charge.applicationReady) this.#say(key, charge, READY)
    })
  }

  enforcing(key: string, node: ClientNode): () => void {
    const pod = this.#options.pods.items.get(key)
    if (pod === undefined || !isDeclared(pod, this.#options.names)) return () => {}
    this.#lastArrival = this.#scheduler.now()
    const charge = this.#chargeOf(key)
    charge.streams++
    charge.address = addressOfNode(node) ?? charge.address
    charge.applicationReady = isApplicationReady(node)
    charge.exposed = exposedBy(node)
    this.#say(key, charge, charge.applicationReady ? READY : APPLICATION_NOT_READY)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      charge.streams--
      if (charge.streams > 0 || this.#stopped) return
      this.#await(charge, this.#grace, () => this.#say(key, charge, { ready: false, forAll: false }))
    }
  }

  /** For the leader, now and then: Pods that stand as ready while no replica has their proxy, for longer than the grace. */
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
      if (now - since < this.#grace || this.#charges.has(key)) continue
      this.#say(key, this.#chargeOf(key), { ready: false, forAll: true })
    }
    for (const key of [...this.#missingSince.keys()]) if (!missing.has(key)) this.#missingSince.delete(key)
  }

  stop(): void {
    this.#stopped = true
    this.#unfollow()
    for (const { timer } of this.#charges.values()) timer?.()
    this.#charges.clear()
  }

  #chargeOf(key: string): Charge {
    const charge = this.#charges.get(key) ?? {
      streams: 0,
      address: undefined,
      applicationReady: true,
      exposed: undefined,
      pending: undefined,
      writing: false,
      failures: 0,
      timer: undefined,
    }
    this.#charges.set(key, charge)
    return charge
  }

  #await(charge: Charge, milliseconds: number, act: () => void): void {
    charge.timer?.()
    charge.timer = this.#scheduler.later(() => {
      charge.timer = undefined
      act()
    }, milliseconds)
  }

  /** The last word counts; one is written at a time. */
  #say(key: string, charge: Charge, word: Word): void {
    if (this.#stopped) return
    charge.timer?.()
    charge.timer = undefined
    charge.pending = word
    if (!charge.writing) void this.#write(key, charge)
  }

  /** Never fails: what goes wrong is told and tried again. */
  async #write(key: string, charge: Charge): Promise<void> {
    charge.writing = true
    while (charge.pending !== undefined && charge.timer === undefined && !this.#stopped) {
      const word = charge.pending
      charge.pending = undefined
      try {
        await this.#writes.run(async () => {
          if (!this.#stopped) await this.#patch(key, charge, word)
        })
        charge.failures = 0
      } catch (error) {
        this.#failed(key, charge, word, error)
      }
    }
    charge.writing = false
    if (charge.streams === 0 && charge.pending === undefined && charge.timer === undefined) this.#charges.delete(key)
  }

  async #patch(key: string, { address, exposed }: Charge, { ready, absence, forAll }: Word): Promise<void> {
    const { client, pods, names, replica } = this.#options
    const pod = pods.items.get(key)
    if (pod === undefined || !isDeclared(pod, names)) return
    // Another replica has the proxy by now: its word stands.
    if (!ready && !forAll && witnessOf(pod) !== replica) return
    const captured = exposed && { type: `${names.domain}/Captured`, exposed }
    const presence = { ready, ...(absence && { absence }), address, replica, ...(captured && { captured }) }
    const patch = presencePatch(pod, presence, this.#now())
    if (patch === undefined) return
    const { name, namespace = "default" } = pod.metadata
    await client.patch(PODS, name, patch, { namespace, subresource: "status", type: "merge" })
  }

  #failed(key: string, charge: Charge, word: Word, error: unknown): void {
    // The Pod is gone, and with it all there was to say.
    if (error instanceof ApiError && error.code === 404) return
    this.#options.onError(key, error)
    if (this.#stopped) return
    charge.pending ??= word
    // The end of a grace says more than another attempt would.
    if (charge.timer !== undefined) return
    const delay = Math.min(RETRY_MS * 2 ** charge.failures, MAX_RETRY_MS)
    charge.failures = Math.min(charge.failures + 1, 16)
    this.#await(charge, delay, () => {
      if (!charge.writing) void this.#write(key, charge)
    })
  }
}
