// SPDX-License-Identifier: Apache-2.0
// A pool of a few HTTP/2 connections to one endpoint, filled one after the other. If limits are shared with other
// endpoints, requests for which no connection has room wait in a bounded queue; otherwise they fail at once.

import type { OutgoingRequest } from "../http/outgoing-request.js"
import type { Upstream, UpstreamCall, UpstreamListener, UpstreamOptions } from "../http/upstream.js"
import { Quota } from "../limits/quota.js"
import { type ConnectionOwner, UpstreamConnection } from "./upstream-connection.js"
import { type ExchangeOptions, UpstreamExchange } from "./upstream-exchange.js"

/** The owner of connections in limits that pools share: all connections count for the same one. */
const OWNER = ""

export class Http2Pool implements Upstream, ConnectionOwner {
  readonly #options: UpstreamOptions
  readonly #connections = new Set<UpstreamConnection>()
  readonly #exchanges: ExchangeOptions
  readonly #queue = new Set<UpstreamExchange>()
  #closing: Promise<void> | undefined
  #closed = (): void => undefined

  constructor(options: UpstreamOptions) {
    const { limits } = options
    this.#options = options
    // Requests in flight, by caller.
    const shares = new Quota({ all: limits.upstreamStreams, sharePercent: limits.callerSharePercent })
    const [connection, waits] = [this.#connection, this.#waits]
    this.#exchanges = { ...options, observer: options.observer ?? {}, connection, waits, forget: this.#forget, shares }
  }

  get connections(): number {
    return this.#connections.size
  }

  send(request: OutgoingRequest, listener: UpstreamListener): UpstreamCall {
    return new UpstreamExchange(this.#exchanges, request, listener)
  }

  close(): Promise<void> {
    this.#closing ??= new Promise(resolve => {
      this.#closed = resolve
    })
    for (const connection of [...this.#connections]) connection.close()
    this.#tellClosed()
    return this.#closing
  }

  destroy(): void {
    void this.close()
    for (const exchange of [...this.#queue]) exchange.fail("connect")
    for (const connection of [...this.#connections]) connection.destroy()
  }

  readonly #connection = (): UpstreamConnection | undefined => {
    for (const connection of this.#connections) if (connection.hasRoom) return connection
    const { limits, shared } = this.#options
    if (this.#connections.size >= limits.upstreamConnections) return undefined
    if (this.#connections.size > 0 && shared?.connections.mayTake(OWNER) === false) return undefined
    const connection = new UpstreamConnection(this.#options, this)
    this.#connections.add(connection)
    shared?.connections.add(OWNER)
    return connection
  }

  /** Queues the exchange until a connection has room; false if it must not wait. */
  readonly #waits = (exchange: UpstreamExchange): boolean => {
    if (this.#options.shared?.pending.take(OWNER) !== true) return false
    this.#queue.add(exchange)
    return true
  }

  readonly #forget = (exchange: UpstreamExchange): void => {
    if (this.#queue.delete(exchange)) this.#options.shared?.pending.release(OWNER)
  }

  // Calls of connections.

  closed(connection: UpstreamConnection): void {
    if (!this.#connections.delete(connection)) return
    this.#options.shared?.connections.release(OWNER)
    this.roomAvailable()
    this.#tellClosed()
  }

  /** Places waiting requests, oldest first, as long as there is room. */
  roomAvailable(): void {
    if (this.#queue.size === 0) return
    for (const exchange of this.#queue) {
      const connection = this.#connection()
      if (connection === undefined) return
      this.#forget(exchange)
      exchange.placeOn(connection)
    }
  }

  #tellClosed(): void {
    if (this.#closing !== undefined && this.#connections.size === 0 && this.#queue.size === 0) this.#closed()
  }
}
