// SPDX-License-Identifier: Apache-2.0
// Applies connection limits to an HTTP or HTTPS server. A connection is busy while one of its requests is being
// answered. Together with the timeouts, a connection that sends nothing costs one slot for a few seconds.

import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { ConnectionLimits } from "./connection-limiter.js"
import { ConnectionLimiter } from "./connection-limiter.js"

/** For servers whose requests are small and answered at once, in milliseconds and bytes. */
export const SMALL_REQUESTS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  // How often Node checks for timed-out connections; the default is 30 s.
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
} as const

/**
 * More than the 511 connections that the system queues for a Node server, so connections that are accepted in one go
 * never evict one whose request has not been read yet.
 */
const DEFAULT_LIMITS: ConnectionLimits = { connections: 1_024, sharePercent: 50 }

export function limitConnections(server: Server, limits = DEFAULT_LIMITS): ConnectionLimiter {
  const limiter = new ConnectionLimiter(limits)
  server.on("connection", (socket: Socket) => void limiter.accept(socket))
  server.on("request", ({ socket }: IncomingMessage, reply: ServerResponse) => {
    const slot = limiter.slotOf(socket)
    slot?.busy()
    reply.on("close", () => slot?.idle())
  })
  return limiter
}
