// SPDX-License-Identifier: Apache-2.0
// Tunnels stand for as long as programs like. A server that is revoked meanwhile loses them: what a new connection would
// refuse, an old one must not keep.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { TrustSpec } from "@merlon/xds"
import { serverCertificate } from "../connect/server-certificate.js"
import { verifyServer } from "../connect/verify-server.js"

interface Standing {
  readonly certificate: X509Certificate
  readonly identities: readonly string[]
}

export class OpenTunnels {
  readonly #standing = new Map<Socket, Standing>()

  add(socket: Socket, identities: readonly string[]): void {
    const certificate = socket instanceof TLSSocket ? serverCertificate(socket) : undefined
    if (certificate === undefined) return
    this.#standing.set(socket, { certificate, identities })
    socket.once("close", () => this.#standing.delete(socket))
  }

  /** Ends those whose server would be refused now. An expired certificate ends none: it was good when it was shown. */
  recheck(trust: TrustSpec): void {
    for (const [socket, { certificate, identities }] of this.#standing) {
      if (verifyServer(certificate, identities, trust, Date.parse(certificate.validFrom)) !== undefined)
        socket.destroy()
    }
  }
}
