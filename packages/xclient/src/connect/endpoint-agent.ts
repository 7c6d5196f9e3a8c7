// SPDX-License-Identifier: Apache-2.0
// Keeps connections to one endpoint, all made by one plan under one material. Once retired it keeps none: requests under
// way come to their end, and their connections close behind them.

import { Agent, type ClientRequestArgs } from "node:http"
import type { Duplex } from "node:stream"
import { type ConnectOptions, connect } from "./connect.js"

const KEEP_IDLE_MS = 30_000
const MAX_IDLE = 32

export class EndpointAgent extends Agent {
  readonly #options: ConnectOptions
  lastUsed = 0

  constructor(options: ConnectOptions) {
    // Shorter than xserver keeps idle connections, so that it is rarely the server that closes first.
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: KEEP_IDLE_MS })
    this.#options = options
  }

  override createConnection(_: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void): undefined {
    connect(this.#options).then(
      socket => done?.(null, socket),
      // Node looks at the stream only where there is no error, whatever its types say.
      (error: Error) => (done as ((error: Error) => void) | undefined)?.(error),
    )
    return undefined
  }

  get isIdle(): boolean {
    return Object.keys(this.sockets).length === 0 && Object.keys(this.requests).length === 0
  }

  retire(): void {
    this.maxFreeSockets = 0
    for (const sockets of Object.values(this.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }
}
