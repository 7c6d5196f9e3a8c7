// SPDX-License-Identifier: Apache-2.0
// Two connections made one: bytes both ways, each end closed when the other is, and both let go when nothing moves.

import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { CallFailure } from "../call/call-failure.js"

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

export function refuseTunnel(client: Duplex, failure: CallFailure): void {
  if (client.destroyed) return
  const body = `${failure.message}\n`
  client.end(
    `HTTP/1.1 ${failure.status} Tunnel refused\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
