// SPDX-License-Identifier: Apache-2.0
// When a connecting socket can be used: a TLS socket after the handshake and the verification of the certificate.
// INVARIANT: nothing that is written before that reaches the peer.

import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** Calls back at most once, and not for a socket that was destroyed. */
export function whenReady(socket: Socket, ready: () => void): void {
  const event = socket instanceof TLSSocket ? "secureConnect" : "connect"
  // Node verifies the certificate before it writes what waits, but does not promise that order.
  socket.cork()
  socket.once(event, () => {
    if (socket.destroyed) return
    ready()
    socket.uncork()
  })
}
