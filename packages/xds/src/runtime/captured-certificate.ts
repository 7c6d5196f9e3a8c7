// SPDX-License-Identifier: Apache-2.0
// The certificate that a caller presented, with its chain. Node returns the chain only to the first reader, and some
// versions (24.21, 26.8, 26.9) read it themselves before the connection event: nodejs/node#65579. So we read it before
// them, if the caller uses ALPN; for a caller without ALPN, those versions return only the certificate.

import type { X509Certificate } from "node:crypto"
import { TLSSocket } from "node:tls"

/** From the end of a handshake until the first read: a certificate is too large to keep for each connection. */
const CAPTURED = new WeakMap<TLSSocket, X509Certificate>()

/** For `ALPNCallback`, whose `this` is the socket of the handshake. */
export function capturePeerCertificate(socket: unknown): void {
  if (!(socket instanceof TLSSocket)) return
  // Node's own listener is already registered, and reads the chain.
  socket.prependOnceListener("secure", () => {
    const certificate = socket.getPeerX509Certificate()
    if (certificate !== undefined && !CAPTURED.has(socket)) CAPTURED.set(socket, certificate)
  })
}

/** Undefined if there is none, or the caller has disconnected. */
export function takePeerCertificate(socket: TLSSocket): X509Certificate | undefined {
  const captured = CAPTURED.get(socket)
  CAPTURED.delete(socket)
  return socket.destroyed ? undefined : (captured ?? socket.getPeerX509Certificate())
}
