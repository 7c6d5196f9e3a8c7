// SPDX-License-Identifier: Apache-2.0
// Joins two connections: bytes in both directions, each end closed when the other is, and both when idle. A reset is
// passed on, because truncated data would otherwise look complete.

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

/** Under TLS, Node can only close the connection without an alert. */
function reset(stream: Duplex): void {
  if (stream instanceof Socket && !(stream instanceof TLSSocket)) stream.resetAndDestroy()
  else stream.destroy()
}
