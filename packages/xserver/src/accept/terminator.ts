// SPDX-License-Identifier: Apache-2.0
// Does the TLS handshakes of one port. A `tls.Server` that never listens takes the sockets that the listener has
// classified. There is one per set of credentials and kind of client, so that replaced credentials leave nothing
// behind, in particular no session tickets.

import { constants } from "node:crypto"
import type { Socket } from "node:net"
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls"
import { TLS_FLOOR, TLS_INTERNAL } from "@merlon/wire/tls"
import { capturePeerCertificate } from "@merlon/xds/runtime"
import type { TlsFailure } from "../observe/meters.js"
import { tlsFailureOf } from "./tls-failure.js"
import type { LoadedMaterial, TransportSecurity } from "./transport-security.js"

export interface TerminatorOptions {
  readonly security: TransportSecurity
  readonly handshakeTimeoutMs: number
  /** Chooses one of the protocols that the client offers; called only if it offers some. */
  readonly chooseAlpn: (offered: readonly string[]) => string | undefined
  /** OpenSSL has verified the chain against the material's bundle; the peer's identity has not been checked yet. */
  readonly onSecure: (socket: TLSSocket, material: LoadedMaterial) => void
  readonly onFailure: (failure: TlsFailure) => void
}

/** How long a session may be resumed without verifying its chain again. */
const SESSION_TIMEOUT_S = 300

/** The minimum ciphers, AES-128 first: its key schedule uses SHA-256, which processors accelerate. */
const CHEAPEST_FIRST = TLS_FLOOR.ciphers
  .split(":")
  .toSorted((one, other) => Number(other.includes("128")) - Number(one.includes("128")))
  .join(":")

/** A renegotiation could present a certificate other than the judged one, and costs us more than the peer. */
const SECURE_OPTIONS = constants.SSL_OP_NO_RENEGOTIATION

const SESSION_CONTEXT = "merlon"

export class Terminator {
  readonly #options: TerminatorOptions
  /** For clients that offer TLS 1.3, with tickets. */
  #server: { readonly material: LoadedMaterial; readonly tls: Server; ticketKeys: Buffer } | undefined
  /**
   * For other clients, without tickets: a TLS 1.2 ticket contains the key of its session, so an attacker who learns our
   * secret later could decrypt it.
   */
  #ticketless: { readonly material: LoadedMaterial; readonly tls: Server } | undefined

  constructor(options: TerminatorOptions) {
    this.#options = options
  }

  /** Takes a socket whose first bytes have been unshifted. */
  terminate(socket: Socket, offersTls13: boolean): void {
    const material = this.#options.security.current
    if (material === undefined) {
      // Fail closed: no client can authenticate to us if we have no certificate.
      this.#options.onFailure("tls-not-accepted")
      socket.destroy()
      return
    }
    // Node documents this use: a socket from elsewhere is injected with the `connection` event.
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
      // INVARIANT: a server that gives tickets speaks only TLS 1.3.
      const options = { ...TLS_INTERNAL, secureOptions: SECURE_OPTIONS, ticketKeys, sessionTimeout: SESSION_TIMEOUT_S }
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
      // OpenSSL chooses the curves: X25519, which is cheapest, and its hybrid with ML-KEM if both sides support it.
      handshakeTimeout: handshakeTimeoutMs,
      // Node would derive it from the command line; it must be the same in all processes that share the keys.
      sessionIdContext: SESSION_CONTEXT,
      ALPNCallback(this: unknown, { protocols }) {
        capturePeerCertificate(this)
        return chooseAlpn(protocols)
      },
    })
    tls.on("secureConnection", socket => {
      socket.on("error", ignore)
      // INVARIANT: `rejectUnauthorized` has already ensured this. Fail closed in case that ever changes.
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
