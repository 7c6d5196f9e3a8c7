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

/** `unknown`: the control plane has not answered yet. `absent`: it has, and there is no such host and port. */
export type RouteAnswer = HostRouting | "unknown" | "absent"

interface Page {
  answer: RouteAnswer
  version: string
  askedAt: number
  /** Connections that follow the answer, and calls that wait for it. */
  users: number
}

export interface RouteBookOptions {
  readonly health: EndpointHealth
  /** Shared by all names that lead to the same destination. */
  readonly destinations?: Destinations
  /** Called when other names are wanted. */
  readonly resubscribe: () => void
  readonly onTrust: (trust: TrustSpec) => void
  /**
   * How many hosts are followed at one time. The one that was asked for longest ago gives way; those in use stay as long as the
   * control plane takes that many names.
   */
  readonly limit?: number
  /** Given for captured connections: follow the outbound policy as well. */
  readonly policy?: OutboundPolicy | undefined
  readonly now?: () => number
}

/** Routes that outlive the process. */
export interface KeptRoute {
  readonly name: string
  /** Absent in what earlier versions kept of a host that was outside of the mesh. */
  readonly spec?: HostRoutesSpec
}

const DEFAULT_LIMIT = 1_000
/** The control plane ends the stream of a client that asks for more than 10,000 names. */
const MAX_NAMES = 9_000
/** The control plane also bounds requests per second, to 50; each one for other names is followed by an acknowledgement. */
const REQUESTS = { burst: 50, perSecond: 20 }

export class RouteBook {
  readonly #options: RouteBookOptions
  /** INVARIANT: in the order of the last question, oldest first. */
  readonly #pages = new Map<string, Page>()
  readonly #changes = new Emitter<[names: ReadonlySet<string>]>()
  readonly #now: () => number
  readonly #requests: TokenBucket
  readonly #destinations: Destinations
  #resubscribing: NodeJS.Timeout | undefined

  constructor(options: RouteBookOptions) {
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
    names: () => [...(this.policy === undefined ? [] : [OUTBOUND_POLICY]), ...this.#pages.keys()],
    known: () =>
      new Map(
        [...this.#pages, [OUTBOUND_POLICY, { version: this.policy?.version ?? "" }] as const].flatMap(
          ([name, { version }]) => (version === "" ? [] : [[name, version]]),
        ),
      ),
    apply: async update => this.#apply(update),
  }

  /** The routes that are known, the most recently asked for first. */
  known(): readonly Required<KeptRoute>[] {
    return [...this.#pages]
      .reverse()
      .flatMap(([name, { answer }]) => (answer instanceof HostRouting ? [{ name, spec: answer.spec }] : []))
  }

  /** For a new book: routes of an earlier process, which count until the control plane says something else. */
  restore(kept: readonly KeptRoute[]): void {
    for (const { name, spec } of kept.toReversed()) {
      // Fail closed: the name may have joined the mesh since, or a workload that demands mutual TLS may have got the address.
      if (spec === undefined) continue
      // Without a version: the control plane sends it again, whatever it is now.
      this.#pages.set(name, { answer: this.#routing(spec), version: "", askedAt: this.#now(), users: 0 })
      this.#options.onTrust(spec.trust)
    }
    this.#resubscribe()
  }

  /** The current answer for `host:port`; asks the control plane if it was not asked before. */
  ask(name: string): RouteAnswer {
    return this.#page(name).answer
  }

  /** Keeps following the host until the returned function is called: a connection goes by its routes. */
  hold(name: string): () => void {
    const page = this.#page(name)
    page.users += 1
    return () => {
      page.users -= 1
      page.askedAt = this.#now()
    }
  }

  /** Stops following hosts that nothing uses and that were not asked for since `idleMs`. */
  forgetUnused(idleMs: number): void {
    const before = this.#pages.size
    for (const [name, { users, askedAt }] of this.#pages)
      if (users === 0 && this.#now() - askedAt >= idleMs) this.#pages.delete(name)
    if (this.#pages.size === before) return
    this.#resubscribe()
    this.#changes.emit(new Set())
  }

  #page(name: string): Page {
    const known = this.#pages.get(name)
    const page: Page = known ?? { answer: "unknown", version: "", askedAt: 0, users: 0 }
    page.askedAt = this.#now()
    this.#pages.delete(name)
    this.#pages.set(name, page)
    if (known === undefined) {
      this.#giveWay(name)
      this.#resubscribe()
    }
    return page
  }

  /** At once, unless there were many requests: then all names that have come in the meantime go in one. */
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

  /** Resolves when the answer is as wanted, or with the last one when the time is over. */
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
        resolve({ answer: this.#pages.get(name)?.answer ?? "unknown", inTime })
      }
      const onAbort = () => finish(false)
      const stop = this.onChange(names => {
        const page = names.has(name) ? this.#pages.get(name) : undefined
        if (page !== undefined && wanted(page.answer)) finish(true)
      })
      const timer = setTimeout(() => finish(false), timeoutMs)
      signal?.addEventListener("abort", onAbort, { once: true })
      if (signal?.aborted) finish(false)
    })
  }

  /** Told the names whose answer is another one now. Returns how to stop listening. */
  onChange(listener: (names: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  #apply({ resources, removed }: Update): void {
    // Everything that can fail comes first: an update is taken as a whole or not at all.
    const policies = resources.filter(({ name }) => name === OUTBOUND_POLICY)
    const hosts = resources.filter(({ name }) => name !== OUTBOUND_POLICY)
    const read = hosts.map(({ name, version, value }) => ({ name, version, spec: readSpec(name, value) }))
    const changed = new Set<string>()
    for (const { version, value } of policies) {
      this.policy?.set(decodeOutboundPolicy(value), version)
      changed.add(OUTBOUND_POLICY)
    }
    for (const { name, version, spec } of read) {
      const page = this.#pages.get(name)
      if (page === undefined) continue
      if (page.answer instanceof HostRouting) page.answer.update(spec)
      else page.answer = this.#routing(spec)
      page.version = version
      changed.add(name)
      this.#options.onTrust(spec.trust)
    }
    for (const name of removed) {
      // A control plane of an older version has no policy: what an earlier one said stays, and is asked for again.
      if (name === OUTBOUND_POLICY && this.policy !== undefined) this.policy.version = ""
      const page = this.#pages.get(name)
      if (page === undefined) continue
      page.answer = "absent"
      page.version = ""
      changed.add(name)
    }
    this.#changes.emit(changed)
  }

  #routing(spec: HostRoutesSpec): HostRouting {
    return new HostRouting(spec, this.#options.health, this.#destinations)
  }

  #giveWay(newest: string): void {
    const limit = this.#options.limit ?? DEFAULT_LIMIT
    for (const [name, { users }] of this.#pages) {
      if (this.#pages.size <= limit) return
      if (users === 0 && name !== newest) this.#pages.delete(name)
    }
    const [oldest] = this.#pages.keys()
    if (this.#pages.size > MAX_NAMES && oldest !== undefined) this.#pages.delete(oldest)
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
