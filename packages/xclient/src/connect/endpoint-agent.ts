// SPDX-License-Identifier: Apache-2.0
// Keeps connections to one endpoint, all made by one plan under one material. Once retired it keeps none: requests under
// way come to their end, and their connections close behind them.

import { Agent, type ClientRequestArgs } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type ConnectOptions, connect } from "./connect.js"

type Done = (error: Error | null, stream: Duplex) => void

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

  override createConnection(_: ClientRequestArgs, done?: Done): undefined {
    if (done !== undefined) void this.#connect(done)
    return undefined
  }

  async #connect(done: Done): Promise<void> {
    let socket: Socket
    try {
      socket = await connect(this.#options)
    } catch (error) {
      // Node looks at the stream only where there is no error, whatever its types say.
      const fail = done as (error: unknown) => void
      fail(error)
      return
    }
    done(null, socket)
  }

  get isIdle(): boolean {
    return Object.keys(this.sockets).length === 0 && Object.keys(this.requests).length === 0
  }

  retire(): void {
    this.maxFreeSockets = 0
    for (const sockets of Object.values(this.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }
}
