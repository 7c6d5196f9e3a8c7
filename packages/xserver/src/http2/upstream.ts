// SPDX-License-Identifier: Apache-2.0
// An application that speaks HTTP/2 in clear: a few connections, filled one after the other.

import { FairShares } from "@merlon/wire"
import type { ForwardedRequest } from "../http/forwarded-request.js"
import type { Upstream, UpstreamCall, UpstreamListener } from "../http/upstream.js"
import { UpstreamConnection, type UpstreamOptions } from "./upstream-connection.js"
import { type ExchangeOptions, UpstreamExchange } from "./upstream-exchange.js"

export class Http2Upstream implements Upstream {
  readonly #options: UpstreamOptions
  readonly #connections = new Set<UpstreamConnection>()
  readonly #exchanges: ExchangeOptions

  constructor(options: UpstreamOptions) {
    const { limits } = options
    this.#options = options
    // Requests in flight, by caller.
    const shares = new FairShares(limits.upstreamStreams, limits.callerSharePercent)
    this.#exchanges = { ...options, connection: this.#connection, shares }
  }

  get connections(): number {
    return this.#connections.size
  }

  send(request: ForwardedRequest, listener: UpstreamListener): UpstreamCall {
    return new UpstreamExchange(this.#exchanges, request, listener)
  }

  close(): void {
    for (const connection of [...this.#connections]) connection.close()
  }

  readonly #connection = (): UpstreamConnection | undefined => {
    for (const connection of this.#connections) if (connection.hasRoom) return connection
    if (this.#connections.size >= this.#options.limits.upstreamConnections) return undefined
    const connection = new UpstreamConnection(this.#options, gone => this.#connections.delete(gone))
    this.#connections.add(connection)
    return connection
  }
}
