// SPDX-License-Identifier: Apache-2.0
// Waits until a connecting socket can be used: a TLS socket after the handshake and the verification of the
// certificate. INVARIANT: nothing that is written before that reaches the peer.

import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** Calls back at most once, and never for a socket that was destroyed. */
export function whenReady(socket: Socket, ready: () => void): void {
  const event = socket instanceof TLSSocket ? "secureConnect" : "connect"
  // Node verifies the certificate before it writes buffered data, but does not document that order.
  socket.cork()
  socket.once(event, () => {
    if (socket.destroyed) return
    ready()
    socket.uncork()
  })
}
