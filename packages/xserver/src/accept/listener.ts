// SPDX-License-Identifier: Apache-2.0
// Accepts connections on one application port. `#serve` and `#serveSecured` are the path of a connection: limit, first
// bytes, TLS, identity, protocol, and then again everything that may have changed since, before a handler gets it. The
// mode is read when the bytes arrive, never earlier, so that no connection is accepted under an outdated mode.
// Everything about the port but its address can change while connections are open; they read the current value.

import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { type Connection, rejectedByMode } from "@merlon/policy/authorization"
import { parseIp } from "@merlon/policy/request"
import type { EffectiveMode } from "@merlon/policy/selection"
import { ConnectionLimiter } from "@merlon/wire/limits"
import { bindHost } from "@merlon/xds/runtime"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import type { Limits } from "../limits.js"
import { type Meters, NO_REQUEST, type RequestRecord, type TlsFailure } from "../observe/meters.js"
import type { Accepted, ConnectionHandler, PeerCertificate } from "./accepted.js"
import { agreedProtocol, chooseAlpn } from "./alpn.js"
import type { Connections } from "./connections.js"
import {
  judgeDecrypted,
  judgeFirstBytes,
  judgeSilence,
  type PortFacts,
  type Protocol,
  type Verdict,
} from "./first-bytes.js"
import { peerCertificate } from "./peer-certificate.js"
import { identifyPeer, isOfMesh } from "./peer-identity.js"
import { Sniff } from "./sniff.js"
import { Terminator } from "./terminator.js"
import { isRevoked, type LoadedMaterial, lacksOneOf, type TransportSecurity } from "./transport-security.js"
import { isTrusted, peerChain } from "./trusted-chain.js"

export type Handlers = { readonly [protocol in Protocol]: ConnectionHandler }

export interface ListenerOptions {
  readonly port: ApplicationPort
  readonly gate: Gate
  readonly security: TransportSecurity
  readonly connections: Connections
  readonly handlers: Handlers
  readonly limits: Limits
  readonly meters: Meters
}

export class Listener {
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #terminator: Terminator
  /** Connections that are not classified yet. */
  readonly #undecided = new Set<Sniff>()
  readonly #open = new Set<Socket>()
  readonly #limiter: ConnectionLimiter
  #port: ApplicationPort
  #serviceNames: ReadonlySet<string>

  constructor(options: ListenerOptions) {
    const { port, security, limits, meters, gate } = options
    this.#options = options
    this.#port = port
    this.#serviceNames = serverNames(port)
    this.#terminator = new Terminator({
      security,
      handshakeTimeoutMs: limits.handshakeTimeoutMs,
      chooseAlpn: offered => chooseAlpn(offered, this.#port.protocol, gate.program.mesh.names),
      onSecure: (socket, material) => void this.#serveSecured(socket, material),
      onFailure: failure => meters.tlsFailed(failure),
    })
    // Half-open: a peer that has finished sending still gets its response.
    this.#server = createServer(
      { allowHalfOpen: true, noDelay: true, keepAlive: true },
      socket => void this.#serve(socket),
    )
    const { connections, callerSharePercent: sharePercent } = limits
    this.#limiter = new ConnectionLimiter({ connections, sharePercent }, limit =>
      meters.limitHit(limit === "connections" ? limit : "callerSharePercent"),
    )
  }

  /** The port that is actually bound, which differs from the configured one if that is 0. */
  get address(): { readonly host: string; readonly port: number } {
    const bound = this.#server.address()
    const { host, port } = this.#port.listen
    return bound !== null && typeof bound === "object" ? { host: bound.address, port: bound.port } : { host, port }
  }

  async listen(): Promise<void> {
    const { host, port } = this.#port.listen
    await once(this.#server.listen({ host: bindHost(host), port, backlog: 1_024 }), "listening")
    // For example, no file descriptors are left: the listener continues, the connection that could not be accepted is
    // lost.
    this.#server.on("error", () => this.#options.meters.limitHit("connections"))
  }

  /** Accepts no further connections and drops those that have not sent anything yet; open ones continue. */
  stopAccepting(): void {
    this.#server.close()
    for (const sniff of [...this.#undecided]) if (sniff.bytes.length === 0) sniff.socket.destroy()
  }

  /** Closes the listener and all its connections at once. */
  destroy(): void {
    this.#server.close()
    for (const socket of [...this.#open]) socket.destroy()
  }

  /** Applies new settings at the same address. Ends only connections of a protocol that the port no longer has. */
  replace(port: ApplicationPort): void {
    const { protocol } = this.#port
    this.#port = port
    this.#serviceNames = serverNames(port)
    if (port.protocol === protocol) return
    // How a socket is read depends on the declared protocol, so an unclassified connection cannot switch.
    for (const { socket } of [...this.#undecided]) socket.destroy()
    this.#options.connections.endOtherProtocols(port.port, port.protocol)
  }

  /** Called after the mode has changed: nothing that the new mode rejects stays open. */
  enforceMode(): void {
    const { connections } = this.#options
    const port = this.#port
    for (const sniff of [...this.#undecided]) sniff.reconsider()
    const { mode } = this.#facts()
    if (mode === "STRICT") connections.drainPlaintext(port.port)
    if (mode === "DISABLE") connections.drainEncrypted(port.port)
  }

  #facts(): PortFacts {
    const { gate } = this.#options
    const port = this.#port
    const mode: EffectiveMode = gate.program.peers.resolve(port.port).mode
    const meshAlpn = gate.program.mesh.names.alpn
    return { mode, protocol: port.protocol, meshAlpn, serviceNames: this.#serviceNames }
  }

  /**
   * A connection from its first packet on. Each step passes it on or ends it; the mesh's TLS continues in
   * `#serveSecured`.
   */
  async #serve(socket: Socket): Promise<void> {
    if (!this.#admit(socket)) return
    let opening = await this.#sniff(socket, this.#judgePlain)
    if (opening === "silent") {
      const protocol = judgeSilence(this.#facts())
      if (protocol === undefined) {
        this.#tooSlow(socket)
        return
      }
      await this.#lend({ socket, protocol, declared: this.#port.protocol })
      opening = await this.#sniff(socket, this.#judgePlain)
    }
    if (typeof opening === "string") {
      this.#tooSlow(socket)
      return
    }
    const { verdict, bytes, declared } = opening
    switch (verdict.kind) {
      case "close":
        if (verdict.failure === "protocol") this.#distrust(socket, verdict.failure)
        else this.#reject(socket, verdict.failure, undefined)
        return
      case "terminate":
        socket.unshift(bytes)
        this.#terminator.terminate(socket, verdict.offersTls13)
        return
      case "plaintext":
        this.#handOver({ socket, head: bytes, protocol: verdict.protocol, sni: verdict.sni, declared })
    }
  }

  /** The same connection from its handshake on: determines its peer and its protocol. */
  async #serveSecured(socket: TLSSocket, material: LoadedMaterial): Promise<void> {
    const identified = this.#identify(socket, material)
    if (!identified.ok) {
      this.#distrust(socket, identified.failure)
      return
    }
    const { peer, certificate } = identified
    const declared = this.#port.protocol
    const arrived = { socket, peer, certificate, material, sni: serverName(socket), declared }
    const { names } = this.#options.gate.program.mesh
    const agreed = declared === "tcp" ? declared : agreedProtocol(socket.alpnProtocol, names)
    if (declared === "tcp" || agreed !== undefined) {
      this.#handOver({ ...arrived, protocol: agreed ?? "tcp" })
      return
    }
    const judge = (bytes: Buffer, ended: boolean): Protocol | More => {
      const protocol = judgeDecrypted(bytes, declared, ended)
      return protocol === "more" ? bytes.length + 1 : protocol
    }
    let opening = await this.#sniff(socket, judge)
    if (opening === "silent" && declared === "auto") {
      await this.#lend({ ...arrived, protocol: "tcp" })
      opening = await this.#sniff(socket, judge)
    }
    if (typeof opening === "string") this.#tooSlow(socket)
    else this.#handOver({ ...arrived, head: opening.bytes, protocol: opening.verdict })
  }

  /**
   * Whether a connection limit allows the socket. The identity is not known yet, so connections are limited by address.
   */
  #admit(socket: Socket): boolean {
    const { meters } = this.#options
    const { port } = this.#port
    if (this.#limiter.accept(socket) === undefined) return false
    meters.connectionOpened(port)
    this.#open.add(socket)
    socket.on("error", ignore)
    socket.once("close", () => {
      this.#open.delete(socket)
      meters.connectionClosed(port)
    })
    return true
  }

  readonly #judgePlain = (bytes: Buffer, ended: boolean): Decided | More => {
    const verdict = judgeFirstBytes(bytes, this.#facts(), ended)
    return verdict.kind === "more" ? verdict.bytes : verdict
  }

  /**
   * The judge's verdict on the first bytes, as soon as there is one; `silent` if none came in time, `undecided` if they
   * did not suffice. Never resolves if the connection closes.
   */
  #sniff<V>(socket: Socket, judge: (bytes: Buffer, ended: boolean) => V | More): Promise<Opening<V>> {
    const { limits, connections, meters } = this.#options
    const declared = this.#port.protocol
    return new Promise(resolve => {
      if (socket.destroyed) return
      const sniff: Sniff = new Sniff(socket, {
        timeoutMs: limits.sniffTimeoutMs,
        unjudged: connections.unjudged,
        // Tunnels are read by events.
        shareReads: declared === "http",
        judge: (bytes, ended) => {
          const verdict = judge(bytes, ended)
          if (typeof verdict === "number") return verdict
          resolve({ verdict, bytes, declared })
          return undefined
        },
        silent: () => resolve("silent"),
        undecided: () => resolve("undecided"),
        evicted: () => meters.limitHit("unjudgedBytes"),
        over: () => {
          this.#undecided.delete(sniff)
        },
      })
      this.#undecided.add(sniff)
      sniff.start()
    })
  }

  #identify(socket: TLSSocket, material: LoadedMaterial): ReturnType<typeof identifyPeer> {
    const { gate, security } = this.#options
    return identifyPeer(peerCertificate(socket), {
      mesh: gate.program.mesh,
      // The current revocations, not those from when the handshake began.
      revoked: security.current?.revoked ?? material.revoked,
      by: material.identity,
      now: Date.now(),
    })
  }

  /**
   * Why an authenticated peer is no longer trusted: the revocations, trust domains or roots may have changed since its
   * handshake began.
   */
  #distrustedNow({ socket, peer, certificate, material }: Arrived): TlsFailure | undefined {
    const { gate, security } = this.#options
    const { current } = security
    if (certificate !== undefined && current !== undefined && isRevoked(current.revoked, certificate)) return "revoked"
    if (peer !== undefined && !isOfMesh(peer, gate.program.mesh)) return "wrong-trust-domain"
    if (material === undefined || current === undefined || material === current) return undefined
    if (!lacksOneOf(current.roots, material.roots)) return undefined
    return isTrusted(peerChain(socket, certificate?.issuer), current.roots) ? undefined : "untrusted"
  }

  /** Rejected by the mTLS mode. The caller gets no reason, so operators find it in this log. */
  #reject(socket: Socket, failure: "not-tls" | "tls-not-accepted", peer: string | undefined): void {
    const { mode } = this.#facts()
    this.#options.meters.tlsFailed(failure)
    this.#close(socket, { verdict: "deny", stage: "transport", mode, reply: undefined }, peer)
  }

  #distrust(socket: Socket, failure: TlsFailure): void {
    this.#options.meters.tlsFailed(failure)
    socket.destroy()
  }

  #tooSlow(socket: Socket): void {
    this.#options.meters.limitHit("sniffTimeoutMs")
    this.#close(socket, { verdict: "deny", stage: "protocol", error: "undecided" }, undefined)
  }

  #close(socket: Socket, judgement: RequestRecord["judgement"], peer: string | undefined): void {
    const { meters } = this.#options
    meters.connectionRejected({
      ...NO_REQUEST,
      protocol: "tcp",
      judgement,
      bytesReceived: socket.bytesRead,
      peer,
      source: plainAddress(socket.remoteAddress),
      port: this.#port.port,
    })
    socket.destroy()
  }

  /**
   * Hands the connection to a handler while the client sends nothing. Resolves when it sends something after all, on an
   * undeclared port.
   */
  #lend(arrived: Arrived): Promise<void> {
    return new Promise(giveBack => this.#handOver(arrived, giveBack))
  }

  #handOver(arrived: Arrived, giveBack?: () => void): void {
    const { gate, handlers } = this.#options
    const { socket, head = EMPTY, protocol, peer, certificate, sni, declared } = arrived
    const currentPort = (): ApplicationPort => this.#port
    const port = currentPort()
    const sourceIp = parseIp(plainAddress(socket.remoteAddress))
    const destinationIp = parseIp(plainAddress(socket.localAddress))
    // A disconnected peer has no address, and no policy can be evaluated without one. Nor may a handler get a
    // connection that was classified for a protocol that the port no longer has.
    if (sourceIp === undefined || destinationIp === undefined || port.protocol !== declared) {
      socket.destroy()
      return
    }
    const connection: Connection = { peer, sourceIp, destinationIp, destinationPort: port.port, sni }
    // The mode may have changed during a handshake.
    if (rejectedByMode(gate.program, connection) !== undefined) {
      this.#reject(socket, peer === undefined ? "not-tls" : "tls-not-accepted", peer?.uri)
      return
    }
    const distrusted = this.#distrustedNow(arrived)
    if (distrusted !== undefined) {
      this.#distrust(socket, distrusted)
      return
    }
    // A client that has sent nothing yet is the first to be closed when there are too many connections.
    if (giveBack === undefined) this.#limiter.slotOf(socket)?.busy()
    const accepted: Accepted = {
      socket,
      head,
      connection,
      certificate,
      // A declared port needs no second check.
      giveBack: declared === "auto" ? giveBack : undefined,
      get port() {
        return currentPort()
      },
    }
    handlers[protocol](accepted)
  }
}

/** How many bytes to collect before the next call. */
type More = number

type Decided = Exclude<Verdict, { kind: "more" }>

type Opening<V> =
  | "silent"
  | "undecided"
  | {
      readonly verdict: V
      readonly bytes: Buffer
      /** The port's protocol when the bytes were first examined. */
      readonly declared: ApplicationPort["protocol"]
    }

/** What is known about a connection that is ready for a handler. */
interface Arrived {
  readonly socket: Socket | TLSSocket
  readonly protocol: Protocol
  readonly declared: ApplicationPort["protocol"]
  /** Bytes that were already read. */
  readonly head?: Buffer
  readonly peer?: Connection["peer"]
  readonly certificate?: PeerCertificate
  readonly sni?: string | undefined
  /** The credentials that the handshake used. */
  readonly material?: LoadedMaterial
}

const EMPTY = Buffer.alloc(0)

function serverNames({ serviceNames }: ApplicationPort): ReadonlySet<string> {
  return new Set(serviceNames.map(name => name.toLowerCase().replace(/\.$/, "")))
}

function serverName(socket: TLSSocket): string | undefined {
  // `servername` is missing from the types of the class, and `false` at run time where the client named none.
  const name: unknown = Reflect.get(socket, "servername")
  return typeof name === "string" && name !== "" ? name : undefined
}

// RFC 4007 section 11: the address of a link-local peer includes the interface, which no policy can name. RFC 4291
// section 2.5.5.2: a dual-stack socket reports IPv4 peers as IPv4-mapped IPv6 addresses; logs and policies use the IPv4
// address.
function plainAddress(address: string | undefined): string {
  return address?.split("%")[0]?.replace(/^::ffff:(?=\d+\.)/i, "") ?? ""
}

// An error on a socket between two owners must not end the process; the next owner adds its own listener.
function ignore(): void {}
