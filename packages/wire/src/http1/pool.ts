// SPDX-License-Identifier: Apache-2.0
// A pool of HTTP/1.1 connections to one endpoint, reused and shared among callers, with a bounded queue. The most
// recently used connection is picked first, so that unneeded ones become idle and are closed.

import { type Deadlines, type Expiring, UNWATCHED } from "../http/deadlines.js"
import type { Fields } from "../http/fields.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import type {
  Connect,
  SharedLimits,
  Upstream,
  UpstreamFailure,
  UpstreamLimits,
  UpstreamListener,
  UpstreamObserver,
  UpstreamOptions,
} from "../http/upstream.js"
import { FIELD_KIND } from "../http2/field-kind.js"
import { Quota } from "../limits/quota.js"
import { ResponseHeads } from "./response-head.js"
import { type ConnectionPool, UpstreamConnection } from "./upstream-connection.js"
import { type ExchangeQueue, UpstreamExchange } from "./upstream-exchange.js"

/**
 * How much earlier than the server's announced timeout an idle connection is closed, so that no request meets a closing
 * connection.
 */
const IDLE_MARGIN_MS = 1_000

/** The owner of connections in limits that pools share: all connections count for the same one. */
const OWNER = ""

export class Http1Pool implements Upstream, ConnectionPool, ExchangeQueue, Expiring {
  readonly connect: Connect
  readonly limits: UpstreamLimits
  readonly observer: UpstreamObserver
  readonly deadlines: Deadlines
  readonly heads: ResponseHeads
  readonly retries: boolean
  readonly #shared: SharedLimits | undefined
  readonly #open = new Set<UpstreamConnection>()
  readonly #idle: UpstreamConnection[] = []
  readonly #queue: UpstreamExchange[] = []
  /** Requests on a connection, by caller. */
  readonly #busy: Quota
  /** Requests in the queue, by caller. */
  readonly #pending: Quota
  #idleMs: number
  #idleHint = ""
  #closing: Promise<void> | undefined
  #closed = (): void => undefined
  /** The deadline of the oldest request in the queue. */
  deadline = 0
  place = UNWATCHED

  constructor({ connect, limits, deadlines, shared, observer = {}, retries = true }: UpstreamOptions) {
    this.#shared = shared
    this.retries = retries
    this.connect = connect
    this.limits = limits
    this.observer = observer
    this.deadlines = deadlines
    this.heads = new ResponseHeads(limits.headerLines)
    this.#idleMs = limits.keepAliveTimeoutMs
    this.#busy = new Quota({ all: limits.upstreamConnections, sharePercent: limits.callerSharePercent })
    this.#pending =
      shared?.pending ?? new Quota({ all: limits.pendingRequests, sharePercent: limits.callerSharePercent })
  }

  get connections(): number {
    return this.#open.size
  }

  get requestsPerConnection(): number {
    return this.#shared?.requestsPerConnection ?? 0
  }

  get idleConnections(): number {
    return this.#idle.length
  }

  send(request: OutgoingRequest, listener: UpstreamListener): UpstreamExchange {
    const exchange = new UpstreamExchange(request, listener, this)
    this.#place(exchange)
    return exchange
  }

  close(): Promise<void> {
    this.#closing ??= new Promise(resolve => {
      this.#closed = resolve
    })
    for (const connection of this.#idle) connection.destroy()
    this.#idle.length = 0
    this.#tellClosed()
    return this.#closing
  }

  destroy(): void {
    void this.close()
    while (this.#queue.length > 0) this.#fail(this.#leaveQueue(0), "connect")
    for (const connection of [...this.#open]) connection.end()
  }

  // Calls of connections and exchanges.

  release(connection: UpstreamConnection): void {
    const next = this.#takeNext()
    if (next === undefined) {
      if (this.#closing !== undefined) connection.destroy()
      else this.#idle.push(connection)
      return
    }
    this.#begin(connection, next)
    connection.output.flush()
    next.listener.onWritable()
  }

  closed(connection: UpstreamConnection): void {
    this.#open.delete(connection)
    this.#shared?.connections.release(OWNER)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    const next = this.#takeNext()
    if (next === undefined) {
      this.#tellClosed()
      return
    }
    this.#place(next)
    next.flush()
    next.listener.onWritable()
  }

  /** Retries a request whose connection closed before the server could read it. */
  retry(exchange: UpstreamExchange): void {
    // Not on an idle connection, which may be as stale as the last one.
    if (this.#mayConnect) this.#connect(exchange)
    else this.#wait(exchange)
    exchange.flush()
  }

  forget(exchange: UpstreamExchange): void {
    const index = this.#queue.indexOf(exchange)
    if (index >= 0) this.#leaveQueue(index)
  }

  left(exchange: UpstreamExchange): void {
    if (!exchange.placed) return
    exchange.placed = false
    this.#busy.release(exchange.request.caller)
  }

  idleDeadline(): number {
    return this.deadlines.after(this.#idleMs)
  }

  /**
   * Reads when the server closes idle connections from `Keep-Alive: timeout=5`. It is the same in every response, so it
   * is parsed once.
   */
  noteIdleHint(headers: Fields): void {
    for (let index = 0; index < headers.size; index++) {
      if (headers.kind(index) !== FIELD_KIND.hop || headers.name(index) !== "keep-alive") continue
      const hint = headers.value(index)
      if (hint === this.#idleHint) return
      this.#idleHint = hint
      const seconds = /(?:^|[,;\s])timeout=(\d{1,6})/i.exec(hint)?.[1]
      const theirs = seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000 - IDLE_MARGIN_MS
      this.#idleMs = Math.max(1, Math.min(this.limits.keepAliveTimeoutMs, theirs))
      return
    }
  }

  /** The oldest request has waited too long, and perhaps others too. */
  expire(): void {
    const { now } = this.deadlines
    while (isBefore(this.#queue[0]?.deadline, now)) {
      const exchange = this.#leaveQueue(0)
      if (exchange !== undefined) this.#reject(exchange, "pendingRequests")
    }
  }

  #place(exchange: UpstreamExchange): void {
    const { caller } = exchange.request
    if (exchange.placed || this.#busy.mayTake(caller)) {
      const connection = this.#takeIdle()
      if (connection !== undefined) {
        this.#begin(connection, exchange)
        return
      }
      if (this.#mayConnect) {
        this.#connect(exchange)
        return
      }
    }
    if (this.#pending.mayTake(caller)) {
      this.#wait(exchange)
      return
    }
    const limit = this.#queue.length < this.limits.pendingRequests ? "callerSharePercent" : "pendingRequests"
    // Not synchronously: the sender does not hold the exchange yet.
    process.nextTick(() => this.#reject(exchange, limit))
  }

  #begin(connection: UpstreamConnection, exchange: UpstreamExchange): void {
    if (!exchange.placed) {
      exchange.placed = true
      this.#busy.add(exchange.request.caller)
    }
    connection.begin(exchange)
  }

  /** The oldest request in the queue whose caller has not used up its share. */
  #takeNext(): UpstreamExchange | undefined {
    for (let index = 0; index < this.#queue.length; index++) {
      const exchange = this.#queue[index]
      if (exchange?.placed === true || this.#busy.mayTake(exchange?.request.caller ?? ""))
        return this.#leaveQueue(index)
    }
    return undefined
  }

  #leaveQueue(index: number): UpstreamExchange | undefined {
    const [exchange] = this.#queue.splice(index, 1)
    if (exchange !== undefined) this.#pending.release(exchange.request.caller)
    this.#setDeadline()
    return exchange
  }

  #takeIdle(): UpstreamConnection | undefined {
    let connection = this.#idle.pop()
    while (connection !== undefined && !connection.usable) connection = this.#idle.pop()
    return connection
  }

  get #mayConnect(): boolean {
    if (this.#open.size >= this.limits.upstreamConnections) return false
    return this.#open.size === 0 || (this.#shared?.connections.mayTake(OWNER) ?? true)
  }

  #connect(exchange: UpstreamExchange): void {
    const connection = new UpstreamConnection(this)
    this.#open.add(connection)
    this.#shared?.connections.add(OWNER)
    this.#begin(connection, exchange)
  }

  #wait(exchange: UpstreamExchange): void {
    exchange.deadline = this.#shared === undefined ? this.deadlines.after(this.limits.connectTimeoutMs) : 0
    this.#queue.push(exchange)
    this.#pending.add(exchange.request.caller)
    this.#setDeadline()
  }

  #reject(exchange: UpstreamExchange, limit: keyof UpstreamLimits): void {
    if (exchange.over) return
    this.observer.limitHit?.(limit)
    this.#fail(exchange, "pending-full")
  }

  #fail(exchange: UpstreamExchange | undefined, failure: UpstreamFailure): void {
    exchange?.finish()
    exchange?.listener.onFailure(failure)
  }

  #tellClosed(): void {
    if (this.#closing !== undefined && this.#open.size === 0 && this.#queue.length === 0) this.#closed()
  }

  #setDeadline(): void {
    const oldest = this.#queue[0]
    this.deadline = oldest?.deadline ?? 0
    if (this.deadline === 0) this.deadlines.unwatch(this)
    else this.deadlines.watch(this)
  }
}

/** 0 means no deadline. */
function isBefore(deadline: number | undefined, now: number): boolean {
  return deadline !== undefined && deadline !== 0 && deadline <= now
}
