// SPDX-License-Identifier: Apache-2.0
// The TLS port. A client certificate is requested but not required, because a proxy without one authenticates with its
// token.

import { constants } from "node:crypto"
import { createServer as createPort, type Server as Port, type Socket } from "node:net"
import { createSecureContext, createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls"
import { TicketKeys } from "@merlon/identity"
import { ConnectionLimiter, type ConnectionSlot, remoteKey } from "@merlon/wire/limits"
import { TLS_INTERNAL } from "@merlon/wire/tls"
import { bindHost } from "../runtime/bind-host.js"
import { capturePeerCertificate } from "../runtime/captured-certificate.js"
import { type Log, messageOf } from "../runtime/log.js"
import { HandshakeQueue } from "./handshake-queue.js"
import { rememberOwnIssuer } from "./issuers.js"
import type { ServerLimits } from "./limits.js"
import { type PeerCertificate, peerCertificate } from "./peer-certificate.js"

export interface Credentials {
  /** PEM, leaf first. */
  readonly certificateChain: string
  readonly privateKey: string
  /** PEM; the roots that are trusted for client certificates. */
  readonly clientTrustBundle: string
  /** Present if sessions may be resumed. */
  readonly sessions?: SessionGrant | undefined
}

/** The secret and the terms of session tickets: a change to either invalidates all earlier sessions. */
export interface SessionGrant {
  /** Shared by all replicas, and the same after a restart. */
  readonly secret: Buffer
  readonly granted: string
}

export interface Connection {
  readonly socket: TLSSocket
  readonly address: string
  /** The client's verified certificate from the handshake, if it presented one. */
  readonly certificate: PeerCertificate | undefined
  /** Busy while the connection has streams. */
  readonly slot: ConnectionSlot | undefined
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly credentials: () => Credentials
  readonly limits: ServerLimits
  readonly log: Log
  readonly accept: (connection: Connection) => void
  readonly counted?: ((open: number) => void) | undefined
}

/** Length of the system's accept queue: after a restart all proxies connect at once. */
const BACKLOG = 4_096

/** Streams last for days, so the sessions that clients offer after a restart may be that old. */
const SESSION_MS = 24 * 3_600_000
/** Node's default depends on the command line, but all replicas that share keys need the same context. */
const SESSION_CONTEXT = "merlon control plane"

/** The prefix of an IPv4 address on a dual-stack socket. */
const MAPPED = /^::ffff:(?=\d+\.)/

export class Listener {
  readonly #port: Port
  /** Does the handshakes. The port belongs to another server, so that connections can wait for their turn. */
  readonly #server: Server
  readonly #handshakes = new HandshakeQueue<Socket>(socket => this.#admit(socket))
  readonly #limiter: ConnectionLimiter
  readonly #options: ListenerOptions
  readonly #connections = new Set<Connection>()
  #ticketKeys: TicketKeys | undefined
  #keysInUse: Buffer | undefined
  /** The trust bundle of the current TLS context. */
  #trustBundle = ""
  /** Callbacks that wait for the last connection to close. */
  readonly #awaiting: (() => void)[] = []

  private constructor(options: ListenerOptions) {
    this.#options = options
    const { limits } = options
    this.#server = createServer({
      ...this.#context(),
      requestCert: true,
      rejectUnauthorized: false,
      // With a list, Node makes a copy for each connection, which keeps a page of its buffers alive as long as the
      // connection.
      ALPNCallback(this: unknown, { protocols }) {
        capturePeerCertificate(this)
        return protocols.includes("h2") ? "h2" : undefined
      },
      handshakeTimeout: limits.handshakeMs,
    })
    // Nothing is read from waiting connections.
    this.#port = createPort({ noDelay: true, pauseOnConnect: true }, socket => this.#arrived(socket))
    // All proxies of a mesh may connect through one gateway, so one address gets most of the limit.
    this.#limiter = new ConnectionLimiter({ connections: limits.connections, sharePercent: 75 })
    this.#server.on("secureConnection", socket => this.#accept(socket))
    // Scanners and incomplete handshakes are not errors of the server.
    this.#server.on("tlsClientError", (_, socket) => socket.destroy())
  }

  static async listen(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options)
    const server = listener.#port
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen({ port: options.port, host: bindHost(options.host), backlog: BACKLOG }, () => {
        server.off("error", reject)
        server.on("error", error => options.log.warn({ error: messageOf(error) }, "a connection was not accepted"))
        resolve()
      })
    })
    return listener
  }

  get port(): number {
    const address = this.#port.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Applies new credentials to new connections. Invalid credentials change nothing. */
  swap(): void {
    try {
      this.#server.setSecureContext(this.#context())
    } catch (error) {
      this.#options.log.error(
        { error: messageOf(error) },
        "the new serving certificate was rejected; the old one stays in use",
      )
    }
  }

  /** Resolves once no connection is left. */
  async emptied(): Promise<void> {
    while (this.#connections.size > 0) await new Promise<void>(resolve => void this.#awaiting.push(resolve))
  }

  /** Stops accepting. */
  stop(): void {
    if (this.#port.listening) this.#port.close()
    for (const socket of this.#handshakes.clear()) socket.destroy()
  }

  destroy(): void {
    this.stop()
    for (const { socket } of [...this.#connections]) socket.destroy()
  }

  #arrived(socket: Socket): void {
    socket.on("error", () => socket.destroy())
    if (this.#limiter.accept(socket) !== undefined) this.#handshakes.add(remoteKey(socket.remoteAddress) ?? "", socket)
  }

  #admit(socket: Socket): void {
    if (socket.destroyed) return
    this.#renewTicketKeys()
    this.#server.emit("connection", socket)
  }

  /** Returns a context for the current credentials. If that fails, the keys in use stay with the context in use. */
  #context(): TlsOptions {
    const credentials = this.#options.credentials()
    const ticketKeys = ticketKeysOf(credentials)
    const keys = ticketKeys?.at(Date.now())
    const context = contextOf(credentials, keys)
    // Throws if key and certificate do not match.
    createSecureContext(context)
    this.#ticketKeys = ticketKeys
    this.#keysInUse = keys
    this.#trustBundle = credentials.clientTrustBundle
    if (ticketKeys !== undefined) rememberOwnIssuer(credentials.certificateChain, credentials.clientTrustBundle)
    return context
  }

  #renewTicketKeys(): void {
    const keys = this.#ticketKeys?.at(Date.now())
    if (keys === undefined || keys === this.#keysInUse) return
    this.#keysInUse = keys
    this.#server.setTicketKeys(keys)
  }

  #accept(socket: TLSSocket): void {
    const { remoteAddress } = socket
    socket.on("error", () => socket.destroy())
    // A peer that has disconnected, that does not use HTTP/2, or whose handshake outlasted the port.
    if (remoteAddress === undefined || socket.alpnProtocol !== "h2" || !this.#port.listening) {
      socket.destroy()
      return
    }
    const address = remoteAddress.replace(MAPPED, "")
    const certificate = peerCertificate(socket, this.#trustBundle)
    const connection: Connection = { socket, address, certificate, slot: this.#limiter.slotOf(socket) }
    // The event comes once anyway, and `once` would keep two more objects for the life of the connection.
    socket.on("close", () => {
      this.#connections.delete(connection)
      this.#options.counted?.(this.#connections.size)
      if (this.#connections.size === 0) for (const notify of this.#awaiting.splice(0)) notify()
    })
    this.#connections.add(connection)
    this.#options.counted?.(this.#connections.size)
    this.#options.accept(connection)
  }
}

function ticketKeysOf({ sessions }: Credentials): TicketKeys | undefined {
  // The key does not depend on the server's certificate, which differs between replicas and starts: clients bind their
  // session to the one they saw.
  return sessions && new TicketKeys(sessions.secret, sessions.granted, Number.POSITIVE_INFINITY, SESSION_MS)
}

function contextOf(
  { certificateChain, privateKey, clientTrustBundle }: Credentials,
  ticketKeys: Buffer | undefined,
): TlsOptions {
  return {
    cert: certificateChain,
    key: privateKey,
    // Fail closed: with an empty bundle, Node would trust its built-in public roots.
    ca: clientTrustBundle.trim() === "" ? [] : [clientTrustBundle],
    ...TLS_INTERNAL,
    // Certificates of resumed sessions are checked like all others: see `peerCertificate` and `Authenticator`.
    ...(ticketKeys === undefined
      ? { secureOptions: constants.SSL_OP_NO_TICKET }
      : { ticketKeys, sessionTimeout: SESSION_MS / 1_000, sessionIdContext: SESSION_CONTEXT }),
  }
}
