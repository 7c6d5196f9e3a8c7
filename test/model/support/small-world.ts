// SPDX-License-Identifier: Apache-2.0
// One policy, one proxy and one replica, built from the control plane's own code: delta sessions, proxy watches, the
// list of connected proxies and the tally of a status. Nothing happens automatically: each event is one step. An oracle
// derives from the events alone what may be claimed. In a world that `lags`, the replica learns of changes late, and
// another replica that does not lag may serve the proxy in between.

import { ConnectedProxies, type ProxySession } from "../../../packages/control/src/distribution/connected-proxies.js"
import { ProxyWatch } from "../../../packages/control/src/distribution/proxy-watch.js"
import type { ProxyView } from "../../../packages/control/src/snapshot/proxy-views.js"
import { EnforcementTally } from "../../../packages/control/src/status/enforcement.js"
import { type DeltaRequest, DeltaSession } from "../../../packages/xds/src/server/delta-session.js"
import type { DeltaResponse } from "../../../packages/xds/src/server/delta-type.js"
import { DEFAULT_SERVER_LIMITS } from "../../../packages/xds/src/server/limits.js"

const PROXY_TYPE = "type.googleapis.com/merlon.mesh.v1.ProxyResource"
const KEY = "foo/a"
const POLICY = "policy/AuthorizationPolicy/foo/p"
const MAX_GENERATION = 3
const MAX_STREAMS = 2

const EVERY_EVENT = [
  "change",
  "send",
  "accept",
  "reject",
  "answer",
  "answer of a lost stream",
  "lose the stream",
  "forget a stream",
  "connect",
  "overdue",
  "replace the Pod",
  "learn of changes",
  "read anew",
  "be served elsewhere",
] as const
export type Event = (typeof EVERY_EVENT)[number]

const LAGGING: readonly Event[] = ["learn of changes", "read anew", "be served elsewhere"]
export const EVENTS = EVERY_EVENT.filter(event => !LAGGING.includes(event))
const ELSEWHERE: readonly Event[] = ["reject", "overdue", "replace the Pod", "answer of a lost stream"]
export const LAGGING_EVENTS = EVERY_EVENT.filter(event => !ELSEWHERE.includes(event))

export interface SmallWorldOptions {
  readonly versionOf: (generation: number) => string
  readonly lags?: boolean
  /**
   * A bug that the exploration must find: sent resources are not recorded, or a lagging replica does not hold them
   * back.
   */
  readonly bug?: "sent is ignored" | "served although it lags"
}

interface Sent {
  readonly response: DeltaResponse
  readonly generation: number
}

interface Stream {
  readonly pod: number
  readonly session: DeltaSession
  readonly watch: ProxyWatch
  readonly down: Sent[]
  readonly up: { readonly sent: Sent; readonly accepted: boolean }[]
  /** The generation that the oracle knows to be acknowledged on this stream. */
  acknowledged: number | undefined
}

export class SmallWorld {
  readonly #options: SmallWorldOptions
  readonly #proxies: ConnectedProxies
  readonly #soon: (() => void)[] = []
  /** The stored generation, and the generation that this replica knows. */
  #stored = 1
  #generation = 1
  /** The generation that another replica reports as enforced by the proxy. */
  #enforcedElsewhere = 0
  #reads: (() => void)[] = []
  #view: ProxyView = { revision: 0, resources: new Map() }
  #tally: EnforcementTally
  #now = 0
  #pod = 1
  /** The streams of the replica, oldest first. */
  #streams: Stream[] = []
  /** The stream that the proxy itself uses. */
  #open: Stream | undefined
  readonly #held = new Map<string, string>()
  /** The generation that the proxy enforces; undefined while it has no configuration and rejects everything. */
  #judges: number | undefined

  constructor(options: SmallWorldOptions) {
    this.#options = options
    const later = (run: () => void): (() => void) => {
      this.#soon.push(run)
      return () => undefined
    }
    this.#proxies = new ConnectedProxies({
      scheduler: { now: () => this.#now, soon: run => void this.#soon.push(run), later },
      now: () => this.#now,
    })
    this.#proxies.onChange(keys => {
      for (const key of keys) this.#tally.update(key)
    })
    this.#tally = this.#learn()
  }

  /** Returns false if the event cannot happen now. */
  do(event: Event): boolean {
    const happened = this.#step(event)
    while (this.#soon.length > 0) this.#soon.shift()?.()
    return happened
  }

  /** Describes a false claim; undefined if there is none. */
  get violation(): string | undefined {
    const claimed = Math.max(this.#enforcedElsewhere, this.#tally.complete ? this.#generation : 0)
    if (this.#open === undefined || this.#judges === undefined || this.#judges >= claimed) return undefined
    const { versionOf } = this.#options
    if (versionOf(this.#judges) === versionOf(claimed)) return undefined
    return `Enforced at generation ${claimed}, and the connected proxy judges by ${this.#judges}`
  }

  get claimed(): boolean {
    return this.#tally.complete
  }

  /** The oracle: whether the newest stream of the existing Pod has acknowledged exactly the stored generation. */
  get mayBeClaimed(): boolean {
    return this.#streams.findLast(({ pod }) => pod === this.#pod)?.acknowledged === this.#generation
  }

  #step(event: Event): boolean {
    const open = this.#open
    switch (event) {
      case "change":
        if (this.#stored === MAX_GENERATION) return false
        this.#stored++
        return this.#options.lags === true || this.#watch()
      case "send":
        return open !== undefined && this.#send(open)
      case "accept":
      case "reject":
        return open !== undefined && this.#receive(open, event === "accept")
      case "answer":
        return open !== undefined && this.#answer(open)
      case "answer of a lost stream":
        return this.#streams.some(stream => stream !== open && this.#answer(stream))
      case "lose the stream":
        if (open === undefined) return false
        open.down.length = 0
        this.#open = undefined
        return true
      case "forget a stream":
        return this.#forget()
      case "connect":
        return this.#connect()
      case "overdue":
        if (open === undefined || open.down.length === 0) return false
        this.#now += DEFAULT_SERVER_LIMITS.ackDeadlineMs
        return this.#send(open)
      case "replace the Pod":
        if (this.#pod > 1) return false
        this.#pod++
        this.#open = undefined
        this.#held.clear()
        this.#judges = undefined
        for (const { watch } of this.#streams) watch.podChanged()
        return true
      case "learn of changes":
        return this.#watch()
      case "read anew":
        if (this.#reads.length === 0) return false
        this.#watch()
        for (const done of this.#reads.splice(0)) done()
        return true
      case "be served elsewhere":
        if (open !== undefined || this.#enforcedElsewhere === this.#stored) return false
        this.#enforcedElsewhere = this.#stored
        this.#judges = this.#stored
        this.#held.set(POLICY, this.#options.versionOf(this.#stored))
        return true
      default:
        return event satisfies never
    }
  }

  #watch(): boolean {
    if (this.#generation === this.#stored) return false
    this.#tally = this.#learn()
    for (const { watch } of this.#streams) watch.changed()
    return true
  }

  #learn(): EnforcementTally {
    this.#generation = this.#stored
    const version = this.#options.versionOf(this.#generation)
    const resource = { name: POLICY, version, value: new Uint8Array() }
    this.#view = { revision: this.#generation, resources: new Map([[POLICY, resource]]) }
    return new EnforcementTally(new Map([[POLICY, version]]), [KEY], key => this.#proxies.proxies.get(key))
  }

  #connect(): boolean {
    if (this.#open !== undefined || this.#streams.length === MAX_STREAMS) return false
    this.#now++
    const pod = this.#pod
    const isReplaced = (): boolean => this.#pod !== pod
    const current = (): ProxyView | undefined => (isReplaced() ? undefined : this.#view)
    const watch = new ProxyWatch({
      names: "*",
      permit: {
        node: { id: KEY, metadata: {}, peerAddress: "" },
        current,
        get isReplaced() {
          return isReplaced()
        },
      },
      first: this.#view,
      wake: typeUrl => session.wake(typeUrl),
      session: this.#sessionOf(this.#proxies.connect(KEY)),
      held: this.#options.bug === "served although it lags" ? new Map() : new Map(this.#held),
      host: { enforcing: () => undefined, readAgain: done => void this.#reads.push(done), closed: () => undefined },
    })
    const session: DeltaSession = new DeltaSession({
      subscriber: {
        watch: () => undefined,
        snapshot: () => watch.snapshot(),
        acknowledged: (_, revision) => watch.acknowledged(revision),
        rejected: (_, revision, message) => watch.rejected(revision, message),
        close: () => watch.close(),
      },
      mayWatch: () => undefined,
      limits: DEFAULT_SERVER_LIMITS,
    })
    session.request(requestOf({ initialResourceVersions: Object.fromEntries(this.#held) }))
    this.#open = { pod, session, watch, down: [], up: [], acknowledged: undefined }
    this.#streams.push(this.#open)
    return true
  }

  #sessionOf(session: ProxySession): ProxySession {
    if (this.#options.bug !== "sent is ignored") return session
    return {
      sent: () => undefined,
      acknowledged: sent => session.acknowledged(sent),
      rejected: (revision, message, sent) => session.rejected(revision, message, sent),
      close: () => session.close(),
    }
  }

  #send(stream: Stream): boolean {
    const response = stream.session.next(this.#now)
    if (response === undefined) return false
    stream.down.push({ response, generation: this.#generation })
    return true
  }

  #receive(stream: Stream, accepted: boolean): boolean {
    const sent = stream.down.shift()
    if (sent === undefined) return false
    if (accepted) {
      for (const { name, version } of sent.response.resources) this.#held.set(name, version)
      // A response is complete: even if it contains no resources, the proxy now has everything of that generation.
      this.#judges = sent.generation
    }
    stream.up.push({ sent, accepted })
    return true
  }

  #answer(stream: Stream): boolean {
    const answer = stream.up.shift()
    if (answer === undefined) return false
    const { sent, accepted } = answer
    const errorDetail = accepted ? undefined : { message: "no" }
    stream.session.request(requestOf({ responseNonce: sent.response.nonce, errorDetail }))
    if (accepted) stream.acknowledged = sent.generation
    return true
  }

  /** The replica notices that a stream is closed. */
  #forget(): boolean {
    const gone = this.#streams.find(stream => stream !== this.#open)
    if (gone === undefined) return false
    gone.watch.close()
    this.#streams = this.#streams.filter(stream => stream !== gone)
    return true
  }
}

function requestOf(change: Partial<DeltaRequest>): DeltaRequest {
  const nothing = { resourceNamesSubscribe: [], resourceNamesUnsubscribe: [], initialResourceVersions: {} }
  return { typeUrl: PROXY_TYPE, ...nothing, responseNonce: "", ...change }
}
