// SPDX-License-Identifier: Apache-2.0
// A pool of HTTP/2 connections to one endpoint: a few, filled one after the other.

import type { OutgoingRequest } from "../http/outgoing-request.js"
import type { Upstream, UpstreamCall, UpstreamListener, UpstreamOptions } from "../http/upstream.js"
import { Quota } from "../limits/quota.js"
import { UpstreamConnection } from "./upstream-connection.js"
import { type ExchangeOptions, UpstreamExchange } from "./upstream-exchange.js"

export class Http2Pool implements Upstream {
  readonly #options: UpstreamOptions
  readonly #connections = new Set<UpstreamConnection>()
  readonly #exchanges: ExchangeOptions
  #closing: Promise<void> | undefined
  #closed = (): void => undefined

  constructor(options: UpstreamOptions) {
    const { limits } = options
    this.#options = options
    // Requests in flight, by caller.
    const shares = new Quota({ all: limits.upstreamStreams, sharePercent: limits.callerSharePercent })
    this.#exchanges = { ...options, observer: options.observer ?? {}, connection: this.#connection, shares }
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
    for (const connection of [...this.#connections]) connection.destroy()
  }

  readonly #connection = (): UpstreamConnection | undefined => {
    for (const connection of this.#connections) if (connection.hasRoom) return connection
    if (this.#connections.size >= this.#options.limits.upstreamConnections) return undefined
    const connection = new UpstreamConnection(this.#options, this.#gone)
    this.#connections.add(connection)
    return connection
  }

  readonly #gone = (connection: UpstreamConnection): void => {
    this.#connections.delete(connection)
    this.#tellClosed()
  }

  #tellClosed(): void {
    if (this.#closing !== undefined && this.#connections.size === 0) this.#closed()
  }
}
