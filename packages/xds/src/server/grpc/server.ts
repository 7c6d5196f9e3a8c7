// SPDX-License-Identifier: Apache-2.0
// gRPC on connections after their handshake. This is our own implementation because of memory: a single connection of
// node:http2 takes more than the memory that is promised for a proxy.

import type { ServerLimits } from "../limits.js"
import type { Connection } from "../listener.js"
import type { GrpcCall } from "./call.js"
import { GrpcConnection } from "./connection.js"

export interface GrpcServerOptions {
  readonly limits: ServerLimits
  readonly serve: (call: GrpcCall) => void
}

/** Connections are looked at this often, or as often as the shortest of their limits asks for. */
const LOOK_MS = 1_000
const MONOTONIC = (): number => performance.now()

export class GrpcServer {
  readonly #options: GrpcServerOptions
  readonly #connections = new Set<GrpcConnection>()
  readonly #looking: NodeJS.Timeout
  #draining = false

  constructor(options: GrpcServerOptions) {
    this.#options = options
    const { pingEveryMs, pingTimeoutMs, idleConnectionMs } = options.limits
    const every = Math.min(LOOK_MS, pingEveryMs, pingTimeoutMs, idleConnectionMs)
    // Not in the timer itself: of a process that was held up, timers come before what has arrived meanwhile, and clients
    // whose answers lie there would be taken for dead.
    this.#looking = setInterval(() => setImmediate(() => this.#look()), every).unref()
  }

  accept(connection: Connection): void {
    const { limits, serve } = this.#options
    const served = new GrpcConnection({
      connection,
      limits,
      now: MONOTONIC,
      serve,
    })
    this.#connections.add(served)
    connection.socket.on("close", () => this.#connections.delete(served))
    served.start()
    if (this.#draining) served.drain()
  }

  /** Asks every connection to close once its calls are through. */
  drain(): void {
    this.#draining = true
    clearInterval(this.#looking)
    for (const connection of [...this.#connections]) connection.drain()
  }

  #look(): void {
    const now = performance.now()
    for (const connection of [...this.#connections]) connection.look(now)
  }
}
