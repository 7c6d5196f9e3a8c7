// SPDX-License-Identifier: Apache-2.0
// Two connections made one: bytes both ways, each end closed when the other is, and both let go when nothing moves.

import type { Socket } from "node:net"
import type { Duplex } from "node:stream"

/** Resolves when both are closed. */
export function joinSockets(client: Duplex, server: Socket, idleMs: number): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      client.destroy()
      server.destroy()
      resolve()
    }
    server.setTimeout(idleMs, end)
    for (const stream of [client, server]) {
      stream.on("error", end)
      stream.once("close", end)
    }
    if (client.destroyed || server.destroyed) return end()
    client.pipe(server)
    server.pipe(client)
  })
}
