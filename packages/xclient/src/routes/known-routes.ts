// SPDX-License-Identifier: Apache-2.0
// The routes of all hosts that were requested, kept up to date by the control plane. A host is subscribed to on first
// use. "Not known yet" and "not a host of the mesh" are different answers.

import { TokenBucket } from "@merlon/wire/limits"
import {
  decodeHostRoutes,
  decodeOutboundPolicy,
  HOST_ROUTES,
  type HostRoutesSpec,
  OUTBOUND_POLICY,
  type TrustSpec,
} from "@merlon/xds"
import type { Subscription } from "@merlon/xds/client"
import { Emitter, messageOf } from "@merlon/xds/runtime"
import { Destinations } from "../balance/destination.js"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { callMatcher } from "./call-matcher.js"
import { HostRouting } from "./host-routing.js"
import type { OutboundPolicy } from "./outbound-policy.js"

type Update = Parameters<Subscription["apply"]>[0]

/** `unknown`: the control plane has not responded yet. `absent`: it has, and there is no such host and port. */
export type RouteAnswer = HostRouting | "unknown" | "absent"

interface Entry {
  answer: RouteAnswer
  version: string
  askedAt: number
  /** Number of connections that use the answer, and of calls that wait for it. */
  users: number
}

export interface KnownRoutesOptions {
  readonly health: EndpointHealth
  /** Shared by all names of the same destination. */
  readonly destinations?: Destinations
  /** Called when the subscribed names have changed. */
  readonly resubscribe: () => void
  readonly onTrust: (trust: TrustSpec) => void
  /**
   * How many hosts are followed at one time. The least recently requested one is dropped first. Hosts in use stay as
   * long as the control plane accepts that many names.
   */
  readonly limit?: number
  /** Set for captured connections, which also follow the outbound policy. */
  readonly policy?: OutboundPolicy | undefined
  readonly now?: () => number
}

/** Routes that outlive the process. */
export interface SavedRoute {
  readonly name: string
  /** Absent if an earlier version saved a host that was outside of the mesh. */
  readonly spec?: HostRoutesSpec
}

const DEFAULT_LIMIT = 1_000
/** The control plane closes the stream of a client that subscribes to more than 10,000 names. */
const MAX_NAMES = 9_000
/**
 * The control plane also limits requests per second, to 50; each request for new names is followed by an
 * acknowledgement.
 */
const REQUESTS = { burst: 50, perSecond: 20 }

export class KnownRoutes {
  readonly #options: KnownRoutesOptions
  /** INVARIANT: ordered by the last request, oldest first. */
  readonly #entries = new Map<string, Entry>()
  readonly #changes = new Emitter<[names: ReadonlySet<string>]>()
  readonly #now: () => number
  readonly #requests: TokenBucket
  readonly #destinations: Destinations
  #resubscribing: NodeJS.Timeout | undefined

  constructor(options: KnownRoutesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#destinations = options.destinations ?? new Destinations()
    this.#requests = new TokenBucket(REQUESTS.burst, REQUESTS.perSecond, this.#now())
  }

  get policy(): OutboundPolicy | undefined {
    return this.#options.policy
  }

  readonly subscription: Subscription = {
    typeUrl: HOST_ROUTES,
    names: () => [...(this.policy === undefined ? [] : [OUTBOUND_POLICY]), ...this.#entries.keys()],
    known: () =>
      new Map(
        [...this.#entries, [OUTBOUND_POLICY, { version: this.policy?.version ?? "" }] as const].flatMap(
          ([name, { version }]) => (version === "" ? [] : [[name, version]]),
        ),
      ),
    apply: async update => this.#apply(update),
  }

  /** The known routes, most recently requested first. */
  known(): readonly Required<SavedRoute>[] {
    return [...this.#entries]
      .reverse()
      .flatMap(([name, { answer }]) => (answer instanceof HostRouting ? [{ name, spec: answer.spec }] : []))
  }

  /** Called on a new knownRoutes with the routes of an earlier process, which apply until the control plane sends others. */
  restore(kept: readonly SavedRoute[]): void {
    for (const { name, spec } of kept.toReversed()) {
      // Fail closed: the name may have joined the mesh since, or a workload that requires mutual TLS may have got the
      // address.
      if (spec === undefined) continue
      // Without a version, so that the control plane sends it again.
      this.#entries.set(name, { answer: this.#routing(spec), version: "", askedAt: this.#now(), users: 0 })
      this.#options.onTrust(spec.trust)
    }
    this.#resubscribe()
  }

  /** The current answer for `host:port`; requests it from the control plane if it was not requested before. */
  ask(name: string): RouteAnswer {
    return this.#entry(name).answer
  }

  /** Keeps following the host until the returned function is called, because a connection uses its routes. */
  hold(name: string): () => void {
    const entry = this.#entry(name)
    entry.users += 1
    return () => {
      entry.users -= 1
      entry.askedAt = this.#now()
    }
  }

  /** Stops following hosts that nothing uses and that were not requested for `idleMs`. */
  forgetUnused(idleMs: number): void {
    const before = this.#entries.size
    for (const [name, { users, askedAt }] of this.#entries)
      if (users === 0 && this.#now() - askedAt >= idleMs) this.#entries.delete(name)
    if (this.#entries.size === before) return
    this.#resubscribe()
    this.#changes.emit(new Set())
  }

  #entry(name: string): Entry {
    const known = this.#entries.get(name)
    const entry: Entry = known ?? { answer: "unknown", version: "", askedAt: 0, users: 0 }
    entry.askedAt = this.#now()
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (known === undefined) {
      this.#giveWay(name)
      this.#resubscribe()
    }
    return entry
  }

  /** At once, unless there were many requests: then all names that were added in the meantime go into one request. */
  #resubscribe(): void {
    if (this.#resubscribing !== undefined) return
    if (this.#requests.take(this.#now())) {
      this.#options.resubscribe()
      return
    }
    this.#resubscribing = setTimeout(() => {
      this.#resubscribing = undefined
      this.#resubscribe()
    }, 1_000 / REQUESTS.perSecond).unref()
  }

  /** Waits for an answer; still `unknown` if none comes in time or the signal aborts the wait. */
  async find(name: string, timeoutMs: number, signal?: AbortSignal): Promise<RouteAnswer> {
    return (await this.until(name, answer => answer !== "unknown", timeoutMs, signal)).answer
  }

  /** Resolves when the answer is as wanted, or with the last one after the timeout. */
  until(
    name: string,
    wanted: (answer: RouteAnswer) => boolean,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly answer: RouteAnswer; readonly inTime: boolean }> {
    const first = this.ask(name)
    if (wanted(first)) return Promise.resolve({ answer: first, inTime: true })
    const release = this.hold(name)
    return new Promise(resolve => {
      const finish = (inTime: boolean) => {
        clearTimeout(timer)
        stop()
        release()
        signal?.removeEventListener("abort", onAbort)
        resolve({ answer: this.#entries.get(name)?.answer ?? "unknown", inTime })
      }
      const onAbort = () => finish(false)
      const stop = this.onChange(names => {
        const entry = names.has(name) ? this.#entries.get(name) : undefined
        if (entry !== undefined && wanted(entry.answer)) finish(true)
      })
      const timer = setTimeout(() => finish(false), timeoutMs)
      signal?.addEventListener("abort", onAbort, { once: true })
      if (signal?.aborted) finish(false)
    })
  }

  /** `listener` gets the names whose answer has changed. Returns a function that removes the listener. */
  onChange(listener: (names: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  #apply({ resources, removed }: Update): void {
    // Everything that can fail comes first: an update is applied completely or not at all.
    const policies = resources.filter(({ name }) => name === OUTBOUND_POLICY)
    const hosts = resources.filter(({ name }) => name !== OUTBOUND_POLICY)
    const read = hosts.map(({ name, version, value }) => ({ name, version, spec: readSpec(name, value) }))
    const changed = new Set<string>()
    for (const { version, value } of policies) {
      this.policy?.set(decodeOutboundPolicy(value), version)
      changed.add(OUTBOUND_POLICY)
    }
    for (const { name, version, spec } of read) {
      const entry = this.#entries.get(name)
      if (entry === undefined) continue
      if (entry.answer instanceof HostRouting) entry.answer.update(spec)
      else entry.answer = this.#routing(spec)
      entry.version = version
      changed.add(name)
      this.#options.onTrust(spec.trust)
    }
    for (const name of removed) {
      // An older control plane has no policy: the policy of an earlier one stays in effect, and is requested again.
      if (name === OUTBOUND_POLICY && this.policy !== undefined) this.policy.version = ""
      const entry = this.#entries.get(name)
      if (entry === undefined) continue
      entry.answer = "absent"
      entry.version = ""
      changed.add(name)
    }
    this.#changes.emit(changed)
  }

  #routing(spec: HostRoutesSpec): HostRouting {
    return new HostRouting(spec, this.#options.health, this.#destinations)
  }

  #giveWay(newest: string): void {
    const limit = this.#options.limit ?? DEFAULT_LIMIT
    for (const [name, { users }] of this.#entries) {
      if (this.#entries.size <= limit) return
      if (users === 0 && name !== newest) this.#entries.delete(name)
    }
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MAX_NAMES && oldest !== undefined) this.#entries.delete(oldest)
  }
}

function readSpec(name: string, value: Uint8Array): HostRoutesSpec {
  try {
    const spec = decodeHostRoutes(value)
    for (const { match } of spec.table.routes) callMatcher(match, spec.table.port)
    return spec
  } catch (error) {
    throw new Error(`the routes of \`${name}\` cannot be used: ${messageOf(error)}`)
  }
}
