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

/** How often connections are checked, unless one of their limits is shorter. */
const LOOK_MS = 1_000
const MONOTONIC = (): number => performance.now()

export class GrpcServer {
  readonly #options: GrpcServerOptions
  readonly #connections = new Set<GrpcConnection>()
  readonly #checkTimer: NodeJS.Timeout
  #draining = false

  constructor(options: GrpcServerOptions) {
    this.#options = options
    const { pingEveryMs, pingTimeoutMs, idleConnectionMs } = options.limits
    const every = Math.min(LOOK_MS, pingEveryMs, pingTimeoutMs, idleConnectionMs)
    // `setImmediate`, because after a process was suspended, timers run before data that has arrived meanwhile is read.
    // Without it, clients whose responses are among that data would be considered dead.
    this.#checkTimer = setInterval(() => setImmediate(() => this.#check()), every).unref()
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

  /** Asks every connection to close once its calls have ended. */
  drain(): void {
    this.#draining = true
    clearInterval(this.#checkTimer)
    for (const connection of [...this.#connections]) connection.drain()
  }

  #check(): void {
    const now = performance.now()
    for (const connection of [...this.#connections]) connection.checkLiveness(now)
  }
}
