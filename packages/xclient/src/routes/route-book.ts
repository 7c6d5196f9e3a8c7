// SPDX-License-Identifier: Apache-2.0
// The routes of all hosts somebody asked for, as the control plane keeps them up to date. A host is subscribed to when it
// is first asked for. "Not known yet" and "no host of the mesh" are different answers, and stay so.

import { decodeHostRoutes, HOST_ROUTES, type HostRoutesSpec, type TrustSpec } from "@merlon/xds"
import type { Subscription } from "@merlon/xds/client"
import { Emitter, messageOf } from "@merlon/xds/runtime"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { callMatcher } from "./call-matcher.js"
import { HostRouting } from "./host-routing.js"

type Update = Parameters<Subscription["apply"]>[0]

/** `unknown`: the control plane has not answered yet. `absent`: it has, and there is no such host and port. */
export type RouteAnswer = HostRouting | "unknown" | "absent"

interface Page {
  answer: RouteAnswer
  version: string
}

export interface RouteBookOptions {
  readonly health: EndpointHealth
  /** Called when other names are wanted. */
  readonly resubscribe: () => void
  readonly onTrust: (trust: TrustSpec) => void
  /** How many hosts are followed at one time; the one that was asked for longest ago gives way. */
  readonly limit?: number
}

/** An answer of the control plane that outlives the process; without routes, that there is no such host and port. */
export interface KeptRoute {
  readonly name: string
  readonly spec: HostRoutesSpec | undefined
}

const DEFAULT_LIMIT = 1_000

export class RouteBook {
  readonly #options: RouteBookOptions
  /** INVARIANT: in the order of the last question, oldest first. */
  readonly #pages = new Map<string, Page>()
  readonly #changes = new Emitter<[names: ReadonlySet<string>]>()

  constructor(options: RouteBookOptions) {
    this.#options = options
  }

  readonly subscription: Subscription = {
    typeUrl: HOST_ROUTES,
    names: () => [...this.#pages.keys()],
    known: () => new Map([...this.#pages].flatMap(([name, { version }]) => (version === "" ? [] : [[name, version]]))),
    apply: async update => this.#apply(update),
  }

  /** What is known, the most recently asked for first. */
  known(): readonly KeptRoute[] {
    return [...this.#pages]
      .reverse()
      .flatMap(([name, { answer }]) =>
        answer === "unknown" ? [] : [{ name, spec: answer === "absent" ? undefined : answer.spec }],
      )
  }

  /** For a new book: answers of an earlier process, which count until the control plane says something else. */
  restore(kept: readonly KeptRoute[]): void {
    for (const { name, spec } of kept.toReversed()) {
      // Without a version: the control plane sends it again, whatever it is now.
      const answer = spec === undefined ? "absent" : new HostRouting(spec, this.#options.health)
      this.#pages.set(name, { answer, version: "" })
      if (spec !== undefined) this.#options.onTrust(spec.trust)
    }
    this.#options.resubscribe()
  }

  /** The answer for `host:port` as it is now; asks the control plane where nobody has. */
  ask(name: string): RouteAnswer {
    let page = this.#pages.get(name)
    const isNew = page === undefined
    page ??= { answer: "unknown", version: "" }
    this.#pages.delete(name)
    this.#pages.set(name, page)
    if (isNew) {
      this.#giveWay()
      this.#options.resubscribe()
    }
    return page.answer
  }

  /** Waits for an answer; still `unknown` where none comes in time or the signal says that nobody waits any more. */
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
    return new Promise(resolve => {
      const finish = (inTime: boolean) => {
        clearTimeout(timer)
        stop()
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
    const read = resources.map(({ name, version, value }) => ({ name, version, spec: readSpec(name, value) }))
    const changed = new Set<string>()
    for (const { name, version, spec } of read) {
      const page = this.#pages.get(name)
      if (page === undefined) continue
      if (page.answer instanceof HostRouting) page.answer.update(spec)
      else page.answer = new HostRouting(spec, this.#options.health)
      page.version = version
      changed.add(name)
      this.#options.onTrust(spec.trust)
    }
    for (const name of removed) {
      const page = this.#pages.get(name)
      if (page === undefined) continue
      page.answer = "absent"
      page.version = ""
      changed.add(name)
    }
    this.#changes.emit(changed)
  }

  #giveWay(): void {
    const [oldest] = this.#pages.keys()
    if (this.#pages.size > (this.#options.limit ?? DEFAULT_LIMIT) && oldest !== undefined) this.#pages.delete(oldest)
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
