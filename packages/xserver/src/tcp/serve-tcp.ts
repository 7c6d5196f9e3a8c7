// SPDX-License-Identifier: Apache-2.0
// TCP through the proxy: judged by the attributes of the connection, then bytes in both directions, each direction
// closing independently. A denied connection is closed without any bytes written. On an undeclared port both sides are
// watched for HTTP first.

import type { Socket } from "node:net"
import { connectTcp } from "@merlon/wire"
import type { UpstreamFailure } from "@merlon/wire/http"
import type { Accepted, ConnectionHandler } from "../accept/accepted.js"
import type { Connections } from "../accept/connections.js"
import { HiddenRequest } from "../accept/hidden-request.js"
import { peerChain } from "../accept/trusted-chain.js"
import type { Admission, Gate } from "../enforcement/gate.js"
import type { Judged, ProtocolError } from "../enforcement/verdict.js"
import type { Limits } from "../limits.js"
import { type Meters, NO_REQUEST } from "../observe/meters.js"
import { WatchedTunnel } from "./watched-tunnel.js"

export interface TcpOptions {
  readonly gate: Gate
  readonly connections: Connections
  readonly limits: Limits
  readonly meters: Meters
}

export function serveTcp(options: TcpOptions): ConnectionHandler {
  return accepted => {
    new Tunnel(accepted, options).open()
  }
}

class Tunnel {
  readonly #accepted: Accepted
  readonly #options: TcpOptions
  readonly #client: Socket
  readonly #started = performance.now()
  /** Watches the client's bytes on an undeclared port. */
  readonly #hidden: HiddenRequest | undefined
  #leave: () => void = () => undefined
  #upstream: Socket | undefined
  #admission: Admission<Judged>
  #failure: UpstreamFailure | undefined

  constructor(accepted: Accepted, options: TcpOptions) {
    this.#accepted = accepted
    this.#options = options
    this.#client = accepted.socket
    // The connection has all its attributes before its first byte, so it is judged at once: a server that speaks first
    // then sends nothing to denied clients.
    const undeclared = accepted.port.protocol === "auto"
    this.#admission = options.gate.admitTcp(accepted.connection, undeclared)
    if (!undeclared) return
    this.#hidden = new HiddenRequest()
    if (this.#admission.judgement.verdict === "allow" && this.#hidden.foundIn(accepted.head)) {
      this.#admission = options.gate.denyProtocol("hidden-request")
    }
  }

  open(): void {
    const { connections } = this.#options
    const { connection, certificate, port } = this.#accepted
    const client = this.#client
    const { peer } = connection
    this.#leave = connections.add({
      port: port.port,
      protocol: "tcp",
      plaintext: peer === undefined,
      peer,
      serial: certificate?.serial,
      get chain() {
        return peerChain(client, certificate?.issuer)
      },
      // A tunnel is one request without an end. A mode that does not allow it ends it; a process that shuts down waits
      // for it.
      drain: reason => {
        if (reason === "mode") this.#destroy()
      },
      judgeAgain: () => this.#judgeAgain(),
      revoke: () => this.#endByChange(this.#options.gate.denyRevoked()),
      destroy: () => this.#destroy(),
    })
    client.on("error", this.#onError)
    client.on("close", this.#onClose)
    if (this.#admission.judgement.verdict === "deny") this.#reject()
    else this.#connect()
  }

  #connect(): void {
    const { limits } = this.#options
    const { port } = this.#accepted
    const client = this.#client
    const upstream = connectTcp(port.upstream, limits.connectTimeoutMs, { allowHalfOpen: true, noDelay: true })
    this.#upstream = upstream
    const timer = setTimeout(() => this.#fail("connect-timeout"), limits.connectTimeoutMs)
    upstream.on("error", () => this.#fail(upstream.connecting || upstream.pending ? "connect" : "reset"))
    upstream.once("close", () => {
      clearTimeout(timer)
      // Both directions have ended; what the client has not read yet is still in flight.
      if (!client.writableEnded && this.#upstream === upstream) this.#destroy()
    })
    upstream.once("connect", () => {
      clearTimeout(timer)
      client.setTimeout(limits.tunnelIdleTimeoutMs)
      client.on("timeout", this.#onIdle)
      this.#carry(upstream)
    })
  }

  #carry(upstream: Socket): void {
    const { head, giveBack } = this.#accepted
    const client = this.#client
    const hidden = this.#hidden
    if (head.length > 0) upstream.write(head)
    if (hidden === undefined) {
      upstream.pipe(client)
      if (client.readableEnded) upstream.end()
      else client.pipe(upstream)
      return
    }
    const reject = (error: ProtocolError): void => this.#denyProtocol(error)
    const onFirst = giveBack && ((chunk: Buffer): void => this.#giveBack(chunk, giveBack))
    new WatchedTunnel({ client, application: upstream, hidden, reject, onFirst }).start()
  }

  /** The client spoke first after all, so its bytes decide the protocol. The application has received none of them. */
  #giveBack(chunk: Buffer, giveBack: () => void): void {
    const client = this.#client
    const upstream = this.#upstream
    this.#upstream = undefined
    upstream?.destroy()
    this.#leave()
    client.setTimeout(0)
    client.off("timeout", this.#onIdle)
    client.off("error", this.#onError)
    client.off("close", this.#onClose)
    client.unshift(chunk)
    giveBack()
  }

  readonly #onIdle = (): void => {
    this.#options.meters.limitHit("tunnelIdleTimeoutMs")
    this.#destroy()
  }

  readonly #onError = (): void => this.#destroy()

  readonly #onClose = (): void => {
    this.#leave()
    this.#upstream?.destroy()
    this.#report()
  }

  #denyProtocol(error: ProtocolError): void {
    this.#admission = this.#options.gate.denyProtocol(error)
    // Not `end`: an application that has half a line must not read it as a complete one.
    this.#upstream?.resetAndDestroy()
    this.#reject()
  }

  #judgeAgain(): void {
    if (this.#admission.judgement.verdict === "deny") return
    const admission = this.#options.gate.admitTcp(this.#accepted.connection, this.#hidden !== undefined)
    if (admission.judgement.verdict === "deny") this.#endByChange(admission)
  }

  #endByChange(admission: Admission<Judged>): void {
    this.#options.meters.endedByChange("tcp", admission.judgement.stage)
    this.#admission = admission
    this.#reject()
  }

  #reject(): void {
    this.#upstream?.destroy()
    // Only a plain socket can be reset. Under TLS, leaving out the closing alert has the same effect.
    if ("encrypted" in this.#client) this.#client.destroy()
    else this.#client.resetAndDestroy()
  }

  #fail(failure: UpstreamFailure): void {
    this.#failure ??= failure
    this.#upstream?.destroy()
    this.#reject()
  }

  #destroy(): void {
    this.#upstream?.destroy()
    this.#client.destroy()
  }

  #report(): void {
    const { connection, port } = this.#accepted
    const { judgement, decisionId } = this.#admission
    this.#options.meters.requestDone({
      ...NO_REQUEST,
      protocol: "tcp",
      judgement,
      decisionId,
      host: connection.sni ?? "",
      bytesReceived: this.#upstream?.bytesWritten ?? 0,
      bytesSent: this.#upstream?.bytesRead ?? 0,
      durationMs: performance.now() - this.#started,
      peer: connection.peer?.uri,
      source: connection.sourceIp.text,
      port: port.port,
      upstreamFailure: this.#failure,
    })
  }
}
