// SPDX-License-Identifier: Apache-2.0
// A forward proxy for programs beside us (`http_proxy`): what they ask of a host of the mesh goes by its routes, balanced
// and over mutual TLS; what they ask of other hosts is refused, unless that was allowed. CONNECT makes a tunnel.

import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type ConnectionLimiter, limitConnections } from "@merlon/wire/limits"
import type { Log } from "@merlon/xds/runtime"
import { CallFailure } from "../call/call-failure.js"
import type { Outbound } from "../call/outbound.js"
import { authorityOf, parseAuthority } from "../routes/authority.js"
import type { HostRouting } from "../routes/host-routing.js"
import type { RouteBook } from "../routes/route-book.js"
import { forwardExternally, tunnelExternally } from "./external.js"
import { forwardThroughMesh } from "./forward.js"
import { forwardTarget, shownTarget } from "./forward-target.js"
import { asHeaderObject, endToEndHeaders } from "./hop-by-hop.js"
import { joinSockets, refuseTunnel } from "./tunnel.js"

export interface ProxyLimits {
  readonly connections: number
  /** Requests and tunnels at one time. */
  readonly active: number
  readonly headerBytes: number
  readonly headerMs: number
  /** For the control plane to say whether a host is one of the mesh. */
  readonly routeMs: number
  /** From the end of a request to the head of its answer. */
  readonly answerMs: number
  readonly tunnelIdleMs: number
}

const DEFAULT_PROXY_LIMITS: ProxyLimits = {
  connections: 4_096,
  active: 2_048,
  headerBytes: 65_536,
  headerMs: 15_000,
  routeMs: 5_000,
  answerMs: 300_000,
  tunnelIdleMs: 3_600_000,
}

export interface OutboundProxyOptions {
  readonly book: RouteBook
  readonly outbound: Outbound
  /** The word of the mesh, for the names of what we say ourselves. */
  readonly mesh: string
  readonly allowExternal: boolean
  /** Asked once per connection; every program that can connect may call where absent. */
  readonly mayCall?: (client: Socket) => Promise<boolean>
  readonly log: Log
  readonly limits?: Partial<ProxyLimits>
}

export class OutboundProxy {
  readonly #options: OutboundProxyOptions
  readonly #limits: ProxyLimits
  readonly #server: Server
  readonly #limiter: ConnectionLimiter
  readonly #tunnels = new Set<Duplex>()
  readonly #mayCall = new WeakMap<Socket, Promise<boolean>>()
  /** Our name in `Via`, so that we know a request that comes to us again. */
  readonly #pseudonym: string
  #active = 0

  constructor(options: OutboundProxyOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_PROXY_LIMITS, ...options.limits }
    this.#pseudonym = `${options.mesh}-xclient-${randomBytes(6).toString("hex")}`
    this.#server = createServer({
      maxHeaderSize: this.#limits.headerBytes,
      requestTimeout: 0,
      connectionsCheckingInterval: 1_000,
    })
    this.#server.headersTimeout = this.#limits.headerMs
    // Programs of one machine share an address, so one address gets most of it.
    this.#limiter = limitConnections(this.#server, { connections: this.#limits.connections, sharePercent: 75 })
    this.#server.on("request", (request, response) => void this.#forward(request, response))
    this.#server.on("connect", (request, socket, head) => {
      this.#limiter.slotOf(request.socket)?.busy()
      void this.#connect(request, socket, head)
    })
    this.#server.on("clientError", (_, socket) => {
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    })
  }

  listen(address: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(address, () => {
        this.#server.off("error", reject)
        resolve(this.#server.address() as AddressInfo) // it listens on TCP
      })
    })
  }

  /** Takes nothing new and resolves when what is under way has ended, or the time is over. */
  async close(drainMs = 5_000): Promise<void> {
    const closed = new Promise<void>(resolve => {
      this.#server.close(() => resolve())
    })
    this.#server.closeIdleConnections()
    const timer = setTimeout(() => {
      this.#server.closeAllConnections()
      for (const tunnel of this.#tunnels) tunnel.destroy()
    }, drainMs)
    await closed
    clearTimeout(timer)
    for (const tunnel of this.#tunnels) tunnel.destroy()
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#counted(async () => {
        await this.#checkClient(request.socket)
        await this.#route(request, response)
      })
    } catch (error) {
      this.#refuse(response, CallFailure.of(error), request.url ?? "")
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = forwardTarget(request.url ?? "")
    if (target === undefined) {
      throw new CallFailure("bad-request", "this is a forward proxy: ask it for `http://HOST/PATH`, or by CONNECT")
    }
    const headers = endToEndHeaders(request.rawHeaders, new Set(["host", "expect", "via"]))
    const via = request.headers.via ?? ""
    if (via.includes(this.#pseudonym))
      throw new CallFailure("bad-request", "the request came from here; it goes in circles")
    const sent = {
      ...asHeaderObject(headers),
      Host: target.authority,
      Via: `${via === "" ? "" : `${via}, `}${request.httpVersion} ${this.#pseudonym}`,
    }
    const signal = closing(response)
    const routing = await this.#routing(target, signal)
    const exchange = { request, response, target, headers: sent, fields: headers, answerMs: this.#limits.answerMs }
    if (routing === undefined) await forwardExternally(exchange)
    else await forwardThroughMesh(exchange, routing, this.#options.outbound)
  }

  async #connect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    // Errors of the client's side end the tunnel; without a listener they would end the process.
    client.on("error", () => client.destroy())
    try {
      await this.#counted(async () => {
        await this.#checkClient(request.socket)
        const authority = parseAuthority(request.url ?? "")
        const { host, port } = authority ?? {}
        if (host === undefined || port === undefined) throw new CallFailure("bad-request", "CONNECT needs `HOST:PORT`")
        const routing = await this.#routing({ host, port })
        const server =
          routing === undefined
            ? await tunnelExternally({ host, port }, this.#limits.routeMs)
            : (await this.#options.outbound.tunnel(routing)).socket
        await this.#join(client, server, head)
      })
    } catch (error) {
      refuseTunnel(client, CallFailure.of(error))
    }
  }

  async #join(client: Duplex, server: Socket, head: Buffer): Promise<void> {
    for (const end of [client, server]) this.#tunnels.add(end)
    try {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      // What the program sent before it heard from us.
      if (head.length > 0) server.write(head)
      await joinSockets(client, server, this.#limits.tunnelIdleMs)
    } finally {
      for (const end of [client, server]) this.#tunnels.delete(end)
    }
  }

  async #checkClient(client: Socket): Promise<void> {
    const { mayCall, mesh } = this.#options
    if (mayCall === undefined) return
    const answer = this.#mayCall.get(client) ?? mayCall(client)
    this.#mayCall.set(client, answer)
    if (!(await answer))
      throw new CallFailure("other-user", `only root and the user that the ${mesh} proxy runs as may call through it`)
  }

  /** Undefined for a host outside of the mesh that may be called. */
  async #routing(
    { host, port }: { readonly host: string; readonly port: number },
    signal?: AbortSignal,
  ): Promise<HostRouting | undefined> {
    const name = authorityOf(host, port)
    const answer = await this.#options.book.find(name, this.#limits.routeMs, signal)
    // Fail closed: as long as nobody knows whether it is a host of the mesh, it is not called as if it were none.
    if (answer === "unknown")
      throw new CallFailure("route-unknown", `the control plane has not said yet how to reach ${name}`)
    if (answer !== "absent") return answer
    if (this.#options.allowExternal) return undefined
    throw new CallFailure(
      "not-in-mesh",
      `${name} is no host of the mesh; \`--allow-external\` lets such requests through`,
    )
  }

  async #counted(work: () => Promise<void>): Promise<void> {
    if (this.#active >= this.#limits.active) throw new CallFailure("too-many", "too many requests are under way")
    this.#active += 1
    try {
      await work()
    } finally {
      this.#active -= 1
    }
  }

  #refuse(response: ServerResponse, failure: CallFailure, url: string): void {
    const { mesh, log } = this.#options
    log.info({ url: shownTarget(url), code: failure.code, why: failure.message }, "a request was not answered")
    if (response.headersSent || response.destroyed) {
      response.destroy()
      return
    }
    const body = `${mesh}: ${failure.message}\n`
    // The rest of the request's body is not read, so nothing more can follow on this connection.
    response.writeHead(failure.status, {
      "content-type": "text/plain; charset=utf-8",
      "content-length": Buffer.byteLength(body),
      [`x-${mesh}-failure`]: failure.code,
      connection: "close",
    })
    response.end(body)
  }
}

/** Aborted when the client goes away. */
function closing(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once("close", () => controller.abort())
  return controller.signal
}
