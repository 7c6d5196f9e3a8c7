// SPDX-License-Identifier: Apache-2.0
// An application that speaks HTTP/2 in clear: a few connections, filled one after the other.

import { CallerShares } from "../enforcement/caller-shares.js"
import type { ForwardedRequest } from "../http/forwarded-request.js"
import type { Upstream, UpstreamCall, UpstreamListener } from "../http/upstream.js"
import { UpstreamConnection, type UpstreamOptions } from "./upstream-connection.js"
import { UpstreamExchange } from "./upstream-exchange.js"

export class Http2Upstream implements Upstream {
  readonly #options: UpstreamOptions
  readonly #connections = new Set<UpstreamConnection>()
  /** Requests in flight, by caller. */
  readonly #shares: CallerShares

  constructor(options: UpstreamOptions) {
    this.#options = options
    this.#shares = new CallerShares(options.limits.upstreamStreams, options.limits.callerSharePercent)
  }

  get connections(): number {
    return this.#connections.size
  }

  send(request: ForwardedRequest, listener: UpstreamListener): UpstreamCall {
    return new UpstreamExchange(
      { ...this.#options, connection: this.#connection, shares: this.#shares },
      request,
      listener,
    )
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
