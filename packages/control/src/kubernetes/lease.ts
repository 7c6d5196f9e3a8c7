// SPDX-License-Identifier: Apache-2.0
// Leader election with a Lease (coordination.k8s.io/v1). Wall clocks are not trusted: a candidate takes over only after
// it has observed the Lease unchanged for its whole duration, and the leader steps down earlier than that, counted from
// before it sent its last successful renewal.

import { Emitter } from "@merlon/xds/runtime"
import { ApiError, type KubernetesClient } from "./client.js"
import { type KubernetesObject, LEASES } from "./resource-type.js"
import { pause, SYSTEM_TIME, type Time } from "./time.js"

export interface LeaseOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  /** Must be unique, also across restarts of this program. */
  readonly identity: string
  /** Whether the holder of this name is known to have stopped; if absent, none is. */
  readonly isOver?: (holder: string) => boolean
  /** How long other candidates wait for a renewal. */
  readonly durationMs?: number
  /**
   * How long the leader relies on a renewal; shorter than `durationMs`, to allow for clocks that run at different
   * speeds.
   */
  readonly renewDeadlineMs?: number
  readonly retryMs?: number
  readonly time?: Time
  readonly random?: () => number
  readonly log?: (message: string, error: unknown) => void
}

interface Lease extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

const DURATION_MS = 15_000
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2_000
/** How long an API that does not answer may delay the end of the program. */
const STOP_MS = 3_000

export class LeaderElection {
  readonly #options: LeaseOptions
  readonly #time: Time
  readonly #durationMs: number
  readonly #renewDeadlineMs: number
  readonly #retryMs: number
  readonly #changes = new Emitter<[leader: boolean]>(error =>
    this.#options.log?.("a listener for leadership failed", error),
  )
  readonly #end = new AbortController()
  #loop: Promise<void> | undefined
  /** INVARIANT: before this moment no other candidate may take the Lease. */
  #leaderUntil = Number.NEGATIVE_INFINITY
  #reported = false
  #cancelExpiry: () => void = () => {}
  /** The Lease as last observed, and when that version was first observed. */
  #seen: { readonly version: string; readonly at: number } | undefined
  /** The Lease as the server returned it for our last renewal. */
  #mine: Lease | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    this.#durationMs = options.durationMs ?? DURATION_MS
    this.#renewDeadlineMs = options.renewDeadlineMs ?? RENEW_DEADLINE_MS
    this.#retryMs = options.retryMs ?? RETRY_MS
    if (this.#retryMs >= this.#renewDeadlineMs || this.#renewDeadlineMs >= this.#durationMs) {
      throw new RangeError("a lease needs retry < renew deadline < duration")
    }
  }

  /** Decided by the clock, not by a timer: a process that was suspended is not the leader when it resumes. */
  get isLeader(): boolean {
    return this.#time.monotonic() < this.#leaderUntil
  }

  onChange(listener: (leader: boolean) => void): () => void {
    return this.#changes.on(listener)
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Releases the Lease, so that no other candidate has to wait. Has a time limit, because the Lease expires anyway. */
  async stop(): Promise<void> {
    const led = this.isLeader
    this.#end.abort()
    this.#leadUntil(Number.NEGATIVE_INFINITY)
    const ended = (this.#loop ?? Promise.resolve()).then(() => (led ? this.#release() : undefined))
    const given = ended.catch((error: unknown) =>
      this.#options.log?.("the lease could not be released; it will expire", error),
    )
    const enough = new AbortController()
    await Promise.race([given, pause(this.#time, STOP_MS, enough.signal)])
    enough.abort()
  }

  async #run(): Promise<void> {
    const { random = Math.random, log } = this.#options
    while (!this.#end.signal.aborted) {
      try {
        await this.#acquireOrRenew()
      } catch (error) {
        log?.(this.isLeader ? "the lease could not be renewed" : "the lease could not be read or acquired", error)
      }
      await pause(this.#time, this.#retryMs * (0.8 + random() * 0.4), this.#end.signal)
    }
  }

  async #acquireOrRenew(): Promise<void> {
    if (await this.#renewAsLeft()) return
    const { client, name, namespace, identity, isOver = () => false } = this.#options
    const found = await client.get<Lease>(LEASES, name, namespace)
    if (this.#end.signal.aborted) return
    if (found === undefined) {
      await this.#write(() => client.create<Lease>(LEASES, this.#lease(undefined)))
      return
    }
    const holder = found.spec?.holderIdentity ?? ""
    if (holder !== identity && holder !== "" && !this.#expired(found) && !isOver(holder)) {
      // Another replica holds it, whatever we assumed.
      this.#leadUntil(Number.NEGATIVE_INFINITY)
      return
    }
    await this.#write(() => client.replace<Lease>(LEASES, this.#lease(found)))
  }

  /**
   * Renews the Lease with a single request if it is unchanged since our last write; an idle control plane does hardly
   * anything else. INVARIANT: the server accepts the write only for that version, so a change by another client is
   * never overwritten.
   */
  async #renewAsLeft(): Promise<boolean> {
    const mine = this.#mine
    this.#mine = undefined
    if (mine === undefined) return false
    try {
      return await this.#write(() => this.#options.client.replace<Lease>(LEASES, this.#lease(mine)))
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return false
      throw error
    }
  }

  /**
   * Returns false if another replica was faster. The time before sending counts: other candidates cannot have observed
   * the renewal earlier.
   */
  async #write(send: () => Promise<Lease>): Promise<boolean> {
    const sent = this.#time.monotonic()
    try {
      const written = await send()
      this.#observe(written)
      this.#mine = written
      if (!this.#end.signal.aborted) this.#leadUntil(sent + this.#renewDeadlineMs)
      return true
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 409) throw error
      return false
    }
  }

  #expired(lease: Lease): boolean {
    const seen = this.#observe(lease)
    const theirs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000
    return this.#time.monotonic() - seen > Math.max(theirs, this.#durationMs)
  }

  /** When the current version was first observed. */
  #observe({ metadata: { uid, resourceVersion } }: Lease): number {
    const version = `${uid}/${resourceVersion}`
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#time.monotonic() }
    return this.#seen.at
  }

  #lease(found: Lease | undefined): Lease {
    const { name, namespace, identity } = this.#options
    const now = microTime(this.#time.now())
    const mine = found?.spec?.holderIdentity === identity
    const transitions = found?.spec?.leaseTransitions ?? 0
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: found?.metadata ?? { name, namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
        acquireTime: mine ? (found.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: found === undefined || mine ? transitions : transitions + 1,
      },
    }
  }

  async #release(): Promise<void> {
    const { client, name, namespace, identity } = this.#options
    const found = await client.get<Lease>(LEASES, name, namespace)
    if (found?.spec?.holderIdentity !== identity) return
    const { leaseTransitions } = found.spec
    await client.replace<Lease>(LEASES, {
      ...found,
      spec: { leaseDurationSeconds: 1, ...(leaseTransitions === undefined ? {} : { leaseTransitions }) },
    })
  }

  #leadUntil(moment: number): void {
    this.#leaderUntil = moment
    this.#reportLapse()
    this.#notify()
  }

  #reportLapse(): void {
    this.#cancelExpiry()
    const left = this.#leaderUntil - this.#time.monotonic()
    if (left <= 0) return
    this.#cancelExpiry = this.#time.after(left, () => {
      // A timer may fire slightly early.
      if (this.isLeader) this.#reportLapse()
      else this.#notify()
    })
  }

  #notify(): void {
    const leader = this.isLeader
    if (leader === this.#reported) return
    this.#reported = leader
    this.#changes.emit(leader)
  }
}

/** RFC 3339 with microseconds, the format of a Lease. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z")
}
