// SPDX-License-Identifier: Apache-2.0
// One port of the application, seen from outside: accept, look at the first bytes, hand over. The mode is read when the
// bytes are there, never earlier, so that no connection is let in by a mode that no longer holds. Everything about the port
// but its address can change while connections are open: `replace` swaps it in, and connections read the current value.

import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { type Connection, refusedByMode } from "@merlon/policy/authorization"
import { parseIp } from "@merlon/policy/request"
import type { EffectiveMode } from "@merlon/policy/selection"
import { SocketLimiter } from "@merlon/wire/limits"
import { bindHost } from "@merlon/xds/runtime"
import type { ApplicationPort } from "../config/application-port.js"
import type { Gate } from "../enforcement/gate.js"
import type { Limits } from "../limits.js"
import { type Meters, NO_REQUEST, type RequestRecord } from "../observe/meters.js"
import type { Accepted, ConnectionHandler, PeerCertificate } from "./accepted.js"
import { agreedProtocol, chooseAlpn } from "./alpn.js"
import type { Connections } from "./connections.js"
import { judgeDecrypted, judgeFirstBytes, judgeSilence, type PortFacts, type Protocol } from "./first-bytes.js"
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
  /** Connections of which not enough is known yet. */
  readonly #undecided = new Set<Sniff>()
  readonly #open = new Set<Socket>()
  readonly #limiter: SocketLimiter
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
      onSecure: (socket, material) => this.#secured(socket, material),
      onFailure: failure => meters.tlsFailed(failure),
    })
    // Half-open: a peer that has said all it wants to say still gets its answer.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, socket => this.#accept(socket))
    const { connections, callerSharePercent: sharePercent } = limits
    this.#limiter = new SocketLimiter({ connections, sharePercent }, limit =>
      meters.limitHit(limit === "connections" ? limit : "callerSharePercent"),
    )
  }

  /** The port actually listened on, which matters where port 0 asked for any. */
  get address(): { readonly host: string; readonly port: number } {
    const bound = this.#server.address()
    const { host, port } = this.#port.listen
    return bound !== null && typeof bound === "object" ? { host: bound.address, port: bound.port } : { host, port }
  }

  async listen(): Promise<void> {
    const { host, port } = this.#port.listen
    await once(this.#server.listen({ host: bindHost(host), port, backlog: 1_024 }), "listening")
    // Out of descriptors, say: the listener goes on, the connection that could not be taken is lost.
    this.#server.on("error", () => this.#options.meters.limitHit("connections"))
  }

  /** Takes no further connection and drops those that have not said anything yet; open ones go on. */
  stopAccepting(): void {
    this.#server.close()
    for (const sniff of [...this.#undecided]) if (sniff.bytes.length === 0) sniff.socket.destroy()
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#server.close()
    for (const socket of [...this.#open]) socket.destroy()
  }

  /** The same address and number with other settings. Ends only connections of a protocol that the port no longer has. */
  replace(port: ApplicationPort): void {
    const { protocol } = this.#port
    this.#port = port
    this.#serviceNames = serverNames(port)
    if (port.protocol === protocol) return
    // How a socket is read is chosen with the protocol, so a connection that has not been decided cannot change it.
    for (const { socket } of [...this.#undecided]) socket.destroy()
    this.#options.connections.endOtherProtocols(port.port, port.protocol)
  }

  /** To be called after the mode has changed: nothing that the new one does not take stays open. */
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

  #accept(socket: Socket): void {
    const { meters } = this.#options
    const { port } = this.#port
    // The identity is not known yet, so connections are limited by address.
    if (this.#limiter.accept(socket) === undefined) return
    meters.connectionOpened(port)
    this.#open.add(socket)
    socket.on("error", ignore)
    socket.once("close", () => {
      this.#open.delete(socket)
      meters.connectionClosed(port)
    })
    this.#sniff(socket, this.#judgePlain, () => {
      const protocol = judgeSilence(this.#facts())
      if (protocol === undefined) this.#tooSlow(socket)
      else this.#hand({ socket, protocol, giveBack: () => this.#sniffAgain(socket, this.#judgePlain) })
    })
  }

  /** Answers how many bytes to ask again with; undefined once it is decided. */
  readonly #judgePlain = (socket: Socket, bytes: Buffer, ended: boolean): number | undefined => {
    const { meters } = this.#options
    const verdict = judgeFirstBytes(bytes, this.#facts(), ended)
    switch (verdict.kind) {
      case "more":
        return verdict.bytes
      case "close":
        if (verdict.failure === "protocol") {
          meters.tlsFailed(verdict.failure)
          socket.destroy()
        } else this.#refuse(socket, verdict.failure, undefined)
        return undefined
      case "plaintext":
        this.#hand({ socket, head: bytes, protocol: verdict.protocol, sni: verdict.sni })
        return undefined
      case "terminate":
        socket.pause()
        socket.unshift(bytes)
        this.#terminator.terminate(socket, verdict.offersTls13)
        return undefined
    }
  }

  #secured(socket: TLSSocket, material: LoadedMaterial): void {
    const { gate, meters } = this.#options
    const { mesh } = gate.program
    const identified = identifyPeer(peerCertificate(socket), {
      mesh,
      // The revocations of now, not those of the handshake's beginning.
      revoked: this.#options.security.current?.revoked ?? material.revoked,
      by: material.identity,
      now: Date.now(),
    })
    if (!identified.ok) {
      meters.tlsFailed(identified.failure)
      socket.destroy()
      return
    }
    const { peer, certificate } = identified
    const sni = serverName(socket)
    const hand = (head: Buffer, protocol: Protocol, giveBack?: () => void) =>
      this.#hand({ socket, head, protocol, peer, certificate, sni, giveBack, material })
    const declared = this.#port.protocol
    const agreed = declared === "tcp" ? "tcp" : agreedProtocol(socket.alpnProtocol, mesh.names)
    if (declared === "tcp" || agreed !== undefined) {
      hand(EMPTY, agreed ?? "tcp")
      return
    }
    const judge = (_: Socket, bytes: Buffer, ended: boolean): number | undefined => {
      const protocol = judgeDecrypted(bytes, declared, ended)
      if (protocol === "more") return bytes.length + 1
      hand(bytes, protocol)
      return undefined
    }
    this.#sniff(socket, judge, () => {
      if (declared === "auto") hand(EMPTY, "tcp", () => this.#sniffAgain(socket, judge))
      else this.#tooSlow(socket)
    })
  }

  /** A client that was silent speaks after all: its bytes are looked at as if they had come at once. */
  #sniffAgain(socket: Socket, judge: Judge): void {
    this.#sniff(socket, judge, () => this.#tooSlow(socket))
  }

  #sniff(socket: Socket, judge: Judge, silent: () => void): void {
    const { limits, connections, meters } = this.#options
    const sniff: Sniff = new Sniff(socket, {
      timeoutMs: limits.sniffTimeoutMs,
      unjudged: connections.unjudged,
      // Tunnels are read by events.
      shareReads: this.#port.protocol === "http",
      judge: (bytes, ended) => judge(socket, bytes, ended),
      silent,
      undecided: () => this.#tooSlow(socket),
      evicted: () => meters.limitHit("unjudgedBytes"),
      over: () => {
        this.#undecided.delete(sniff)
      },
    })
    this.#undecided.add(sniff)
    sniff.start()
  }

  /** By the mode. The caller is told nothing, so whoever wonders finds it here. */
  #refuse(socket: Socket, failure: "not-tls" | "tls-not-accepted", peer: string | undefined): void {
    const { mode } = this.#facts()
    this.#options.meters.tlsFailed(failure)
    this.#close(socket, { verdict: "deny", stage: "transport", mode, reply: undefined }, peer)
  }

  #tooSlow(socket: Socket): void {
    this.#options.meters.limitHit("sniffTimeoutMs")
    this.#close(socket, { verdict: "deny", stage: "protocol", fault: "undecided" }, undefined)
  }

  #close(socket: Socket, judgement: RequestRecord["judgement"], peer: string | undefined): void {
    const { meters } = this.#options
    meters.connectionRefused({
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

  #hand({ socket, head = EMPTY, protocol, peer, certificate, sni, giveBack, material }: Handing): void {
    const { gate, handlers, security, meters } = this.#options
    const currentPort = (): ApplicationPort => this.#port
    const port = currentPort()
    const sourceIp = parseIp(plainAddress(socket.remoteAddress))
    const destinationIp = parseIp(plainAddress(socket.localAddress))
    // A peer that has gone has no address any more, and without one no policy can be asked.
    if (sourceIp === undefined || destinationIp === undefined) {
      socket.destroy()
      return
    }
    const connection: Connection = { peer, sourceIp, destinationIp, destinationPort: port.port, sni }
    // The mode may have changed during a handshake.
    if (refusedByMode(gate.program, connection) !== undefined) {
      this.#refuse(socket, peer === undefined ? "not-tls" : "tls-not-accepted", peer?.uri)
      return
    }
    // Nor may a peer that was revoked since, while nobody knew yet what it would say.
    const { current } = security
    if (certificate !== undefined && current !== undefined && isRevoked(current.revoked, certificate)) {
      meters.tlsFailed("revoked")
      socket.destroy()
      return
    }
    // Nor may one whose trust domain no longer counts as ours.
    if (peer !== undefined && !isOfMesh(peer, gate.program.mesh)) {
      meters.tlsFailed("wrong-trust-domain")
      socket.destroy()
      return
    }
    // Nor may one whose root has gone since.
    if (material !== undefined && current !== undefined && material !== current) {
      if (
        lacksOneOf(current.roots, material.roots) &&
        !isTrusted(peerChain(socket, certificate?.issuer), current.roots)
      ) {
        meters.tlsFailed("untrusted")
        socket.destroy()
        return
      }
    }
    // A client that has sent nothing yet gives way to others where there are too many connections.
    if (giveBack === undefined) this.#limiter.slotOf(socket)?.busy()
    // On a port that is declared, nobody has to look again.
    const again = port.protocol === "auto" ? giveBack : undefined
    const accepted: Accepted = {
      socket,
      head,
      connection,
      certificate,
      giveBack: again,
      get port() {
        return currentPort()
      },
    }
    handlers[protocol](accepted)
  }
}

/** Answers how many bytes to ask again with; undefined once it is decided. `ended` where nothing more will come. */
type Judge = (socket: Socket, bytes: Buffer, ended: boolean) => number | undefined

interface Handing {
  readonly socket: Socket | TLSSocket
  readonly protocol: Protocol
  /** What has been read of it. */
  readonly head?: Buffer
  readonly peer?: Connection["peer"]
  readonly certificate?: PeerCertificate
  readonly sni?: string | undefined
  readonly giveBack?: (() => void) | undefined
  /** What the handshake was made with. */
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

// RFC 4007 section 11: link-local peers carry the interface, which no policy can name. RFC 4291 section 2.5.5.2: an IPv4
// peer of a socket for both is written inside an IPv6 address, and logs and policies know it by its own.
function plainAddress(address: string | undefined): string {
  return address?.split("%")[0]?.replace(/^::ffff:(?=\d+\.)/i, "") ?? ""
}

// A socket between two owners must not end the process; whoever owns it next listens for itself.
function ignore(): void {}
