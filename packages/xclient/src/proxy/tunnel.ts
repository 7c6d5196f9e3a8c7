// SPDX-License-Identifier: Apache-2.0
// Joins two connections: bytes both ways, each end closed when the other is, and both when idle. A connection that is
// reset resets the other, or truncated data would look complete.

import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { TLSSocket } from "node:tls"

/** Resolves when both are closed. */
export function joinSockets(client: Duplex, server: Socket, idleMs: number): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      client.destroy()
      server.destroy()
      resolve()
    }
    server.setTimeout(idleMs, end)
    const breakOff = () => {
      for (const stream of [client, server]) reset(stream)
      resolve()
    }
    for (const stream of [client, server]) {
      stream.on("error", breakOff)
      stream.once("close", end)
    }
    if (client.destroyed || server.destroyed) return end()
    client.pipe(server)
    server.pipe(client)
  })
}

/** Inside TLS, an end without notice is all that Node can do. */
function reset(stream: Duplex): void {
  if (stream instanceof Socket && !(stream instanceof TLSSocket)) stream.resetAndDestroy()
  else stream.destroy()
}
