// SPDX-License-Identifier: Apache-2.0
// TLS handshakes of one port. A `tls.Server` that never listens takes the sockets that the listener has classified. There
// is one per credentials and kind of client, so that replaced credentials leave nothing behind, in particular no session
// tickets.

import { constants } from "node:crypto"
import type { Socket } from "node:net"
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls"
import { TLS_FLOOR, TLS_OWN } from "@merlon/wire/tls"
import { lookFirst } from "@merlon/xds/runtime"
import type { TlsFailure } from "../observe/meters.js"
import { tlsFailureOf } from "./tls-failure.js"
import type { LoadedMaterial, TransportSecurity } from "./transport-security.js"

export interface TerminatorOptions {
  readonly security: TransportSecurity
  readonly handshakeTimeoutMs: number
  /** Which of the protocols the client offers is taken; asked only where it offers some. */
  readonly chooseAlpn: (offered: readonly string[]) => string | undefined
  /** The chain has been verified by the material's bundle; who the peer is has not been looked at. */
  readonly onSecure: (socket: TLSSocket, material: LoadedMaterial) => void
  readonly onFailure: (failure: TlsFailure) => void
}

/** How long a session may be resumed without its chain being looked at again. */
const SESSION_TIMEOUT_S = 300

/** Those of the floor. AES-128 first: its key schedule is SHA-256, for which processors have instructions. */
const CHEAPEST_FIRST = TLS_FLOOR.ciphers
  .split(":")
  .toSorted((one, other) => Number(other.includes("128")) - Number(one.includes("128")))
  .join(":")

/** A renegotiation could bring another certificate than the one that was judged, and costs us more than the peer. */
const SECURE_OPTIONS = constants.SSL_OP_NO_RENEGOTIATION

const SESSION_CONTEXT = "merlon"

export class Terminator {
  readonly #options: TerminatorOptions
  /** For clients that offer TLS 1.3, with tickets. */
  #server: { readonly material: LoadedMaterial; readonly tls: Server; ticketKeys: Buffer } | undefined
  /** For others, without: a ticket of TLS 1.2 contains the key of its session, and who learns our secret later could read it. */
  #ticketless: { readonly material: LoadedMaterial; readonly tls: Server } | undefined

  constructor(options: TerminatorOptions) {
    this.#options = options
  }

  /** Takes a socket whose first bytes have been put back. */
  terminate(socket: Socket, offersTls13: boolean): void {
    const material = this.#options.security.current
    if (material === undefined) {
      // Fail closed: without a certificate of our own no client can authenticate to us.
      this.#options.onFailure("tls-not-accepted")
      socket.destroy()
      return
    }
    // Documented for this use: sockets that come from elsewhere are injected by their event.
    const tls = offersTls13 ? this.#withTickets(material) : this.#withoutTickets(material)
    tls.emit("connection", socket)
  }

  #withoutTickets(material: LoadedMaterial): Server {
    if (this.#ticketless?.material !== material) {
      const secureOptions = SECURE_OPTIONS | constants.SSL_OP_NO_TICKET
      this.#ticketless = { material, tls: this.#create(material, { secureOptions }) }
    }
    return this.#ticketless.tls
  }

  #withTickets(material: LoadedMaterial): Server {
    const ticketKeys = material.ticketKeys.at(Date.now())
    if (this.#server?.material !== material) {
      // INVARIANT: where tickets are given, nothing older than TLS 1.3 is spoken.
      const options = { ...TLS_OWN, secureOptions: SECURE_OPTIONS, ticketKeys, sessionTimeout: SESSION_TIMEOUT_S }
      this.#server = { material, tls: this.#create(material, options), ticketKeys }
    } else if (this.#server.ticketKeys !== ticketKeys) {
      this.#server.ticketKeys = ticketKeys
      this.#server.tls.setTicketKeys(ticketKeys)
    }
    return this.#server.tls
  }

  #create(material: LoadedMaterial, options: TlsOptions): Server {
    const { handshakeTimeoutMs, chooseAlpn, onSecure, onFailure } = this.#options
    const tls = createServer({
      cert: material.certificateChain,
      key: material.privateKey,
      ca: material.trustBundle,
      requestCert: true,
      rejectUnauthorized: true,
      ...TLS_FLOOR,
      ...options,
      ciphers: CHEAPEST_FIRST,
      honorCipherOrder: true,
      // Curves are OpenSSL's choice: X25519, which is cheapest, and its hybrid with ML-KEM where both sides have it.
      handshakeTimeout: handshakeTimeoutMs,
      // Node would make it of the command line; it must be the same in all processes that share the keys.
      sessionIdContext: SESSION_CONTEXT,
      ALPNCallback(this: unknown, { protocols }) {
        lookFirst(this)
        return chooseAlpn(protocols)
      },
    })
    tls.on("secureConnection", socket => {
      socket.on("error", ignore)
      // INVARIANT: `rejectUnauthorized` has seen to this already. Fail closed should that ever change.
      if (socket.authorized) {
        onSecure(socket, material)
        return
      }
      onFailure("untrusted")
      socket.destroy()
    })
    tls.on("tlsClientError", (error, socket) => {
      onFailure(tlsFailureOf(error, socket.authorizationError))
      socket.destroy()
    })
    return tls
  }
}

// An error on a socket between two owners must not end the process; the next owner adds its own listener.
function ignore(): void {}
