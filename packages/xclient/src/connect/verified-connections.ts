// SPDX-License-Identifier: Apache-2.0
// Open connections to servers with a verified identity. Tunnels and streams can stay open for long. If the server is
// revoked meanwhile, they are closed: an old connection must not survive what would reject a new one.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { TrustSpec } from "@merlon/xds"
import { serverCertificate } from "./server-certificate.js"
import { verifyServer } from "./verify-server.js"

interface Verified {
  readonly certificate: X509Certificate
  readonly identities: readonly string[]
}

export class VerifiedConnections {
  readonly #open = new Map<Socket, Verified>()
  #trust: TrustSpec | undefined

  add(socket: Socket, identities: readonly string[]): void {
    const certificate = socket instanceof TLSSocket ? serverCertificate(socket) : undefined
    if (certificate === undefined || socket.destroyed) return
    this.#open.set(socket, { certificate, identities })
    socket.once("close", () => this.#open.delete(socket))
    // Without a listener the error below would end the process, and the owner may not have one yet.
    socket.on("error", () => undefined)
    // The trust bundle may have changed while the connection was made.
    if (this.#trust !== undefined) endUntrusted(socket, { certificate, identities }, this.#trust)
  }

  recheck(trust: TrustSpec): void {
    this.#trust = trust
    for (const [socket, verified] of this.#open) endUntrusted(socket, verified, trust)
  }
}

/** An expired certificate ends no connection: it was valid when it was presented. */
function endUntrusted(socket: Socket, { certificate, identities }: Verified, trust: TrustSpec): void {
  const error = verifyServer(certificate, identities, trust, Date.parse(certificate.validFrom))
  if (error !== undefined) socket.destroy(new Error(error))
}
