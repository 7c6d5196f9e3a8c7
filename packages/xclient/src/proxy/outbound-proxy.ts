// SPDX-License-Identifier: Apache-2.0
// A forward proxy for local programs (`http_proxy`): calls to hosts of the mesh use their routes, balanced and over
// mTLS. Calls to other hosts are rejected unless allowed. CONNECT opens a tunnel.

import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Exchange, LocalReply, RequestHead, Responder } from "@merlon/wire/http"
import { hasContent } from "@merlon/wire/http"
import { ConnectionLimiter, type ConnectionSlot } from "@merlon/wire/limits"
import type { Log } from "@merlon/xds/runtime"
import { CallFailure } from "../call/call-failure.js"
import type { Outbound } from "../call/outbound.js"
import type { RequestCalls } from "../http/request-calls.js"
import type { RequestRouter } from "../http/routed-exchange.js"
import { type CallObserver, UNOBSERVED } from "../observe/call-record.js"
import { ObservedConnection } from "../observe/observed-connection.js"
import { addressIn, authorityOf } from "../routes/authority.js"
import { HostRouting } from "../routes/host-routing.js"
import type { KnownRoutes, RouteAnswer } from "../routes/known-routes.js"
import { ConnectExchange, type TunnellingProxy } from "./connect-exchange.js"
import { externalRouting, tunnelExternally } from "./external.js"
import { type ForwardTarget, forwardTarget, shownTarget } from "./forward-target.js"
import { ForwardedExchange, type ForwardingProxy } from "./forwarded-exchange.js"

export interface ProxyLimits {
  readonly connections: number
  /** Concurrent requests and tunnels. */
  readonly active: number
  /** How long to wait for the control plane to decide whether a host is in the mesh. */
  readonly routeMs: number
  /** From the end of a request to the head of its response. */
  readonly answerMs: number
}

const DEFAULT_PROXY_LIMITS: ProxyLimits = {
  connections: 4_096,
  active: 2_048,
  routeMs: 5_000,
  answerMs: 300_000,
}

export interface OutboundProxyOptions {
  readonly knownRoutes: KnownRoutes
  readonly outbound: Outbound
  readonly requests: RequestCalls
  /** The name of the mesh, for our own names. */
  readonly mesh: string
  readonly allowExternal: boolean
  /** Called with the first request of a connection. If absent, every program that can connect may call. */
  readonly mayCall?: (client: Socket) => Promise<boolean>
  readonly log: Log
  /** Receives every tunnel. */
  readonly observer?: CallObserver
  readonly limits?: Partial<ProxyLimits>
}

export class OutboundProxy {
  readonly #options: OutboundProxyOptions
  readonly #limits: ProxyLimits
  readonly #server: Server
  readonly #limiter: ConnectionLimiter
  readonly #connections = new Set<Socket>()
  /** Our name in `Via`, by which the proxy recognises a request that returns to it. */
  readonly #pseudonym: string
  #active = 0

  constructor(options: OutboundProxyOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_PROXY_LIMITS, ...options.limits }
    this.#pseudonym = `${options.mesh}-xclient-${randomBytes(6).toString("hex")}`
    // Programs on one machine share an address, so one address may have most of the connections.
    this.#limiter = new ConnectionLimiter({ connections: this.#limits.connections, sharePercent: 75 })
    // A program may end its own direction of a tunnel and still read.
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true })
    this.#server.on("connection", socket => this.#serve(socket))
  }

  async listen(address: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    await once(this.#server.listen(address), "listening")
    return this.#server.address() as AddressInfo // it listens on TCP
  }

  /** Stops accepting, and resolves when everything in flight has ended, or the time is over. */
  async close(drainMs = 5_000): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#options.requests.drain()
    const timer = setTimeout(() => {
      for (const socket of this.#connections) socket.destroy()
    }, drainMs)
    await closed
    clearTimeout(timer)
  }

  #serve(client: Socket): void {
    const slot = this.#limiter.accept(client)
    if (slot === undefined) return
    this.#connections.add(client)
    client.once("close", () => this.#connections.delete(client))
    // An error without a listener would end the process; `close` follows it.
    client.on("error", () => client.destroy())
    // Called on demand: it reads the list of all sockets of the machine, which connections that send nothing must not
    // cause.
    const { mayCall, requests } = this.#options
    let answer: boolean | Promise<boolean> | undefined = mayCall === undefined ? true : undefined
    const isAllowed = (): boolean | Promise<boolean> => {
      answer ??= mayCall?.(client).then(allowed => {
        answer = allowed
        return allowed
      })
      return answer ?? true
    }
    requests.serveProxied(client, (head, responder) => this.#exchange(head, responder, isAllowed, { client, slot }))
  }

  #exchange(
    head: RequestHead,
    responder: Responder,
    isAllowed: () => boolean | Promise<boolean>,
    { client, slot }: { readonly client: Socket; readonly slot: ConnectionSlot },
  ): Exchange {
    this.#active += 1
    slot.busy()
    const proxy: ForwardingProxy & TunnellingProxy = {
      answerMs: this.#limits.answerMs,
      routerFor: request => {
        const routerIf = (allowed: boolean) => {
          this.#check(request, allowed)
          return this.#routerFor(request)
        }
        const allowed = isAllowed()
        return typeof allowed === "boolean" ? routerIf(allowed) : allowed.then(routerIf)
      },
      connect: async request => {
        this.#check(request, await isAllowed())
        return this.#connect(forwardTarget(request), client)
      },
      failed: (failure, request) => this.#failed(failure, request),
      finished: () => {
        this.#active -= 1
        slot.idle()
      },
    }
    return head.method === "CONNECT"
      ? new ConnectExchange(proxy, responder, head)
      : new ForwardedExchange(proxy, responder, head)
  }

  /** Throws a CallFailure. */
  #check({ method, headers, framing }: RequestHead, isAllowed: boolean): void {
    const { mesh } = this.#options
    if (!isAllowed)
      throw new CallFailure("other-user", `only root and the user that the ${mesh} proxy runs as may call through it`)
    if (this.#active > this.#limits.active) throw new CallFailure("too-many", "too many concurrent requests")
    if (method === "CONNECT" && hasContent(framing)) throw new CallFailure("bad-request", "CONNECT has no content")
    if ((headers.get("via") ?? []).some(via => via.includes(this.#pseudonym)))
      throw new CallFailure("bad-request", "the request came from this proxy: it loops")
  }

  #routerFor(head: RequestHead): RequestRouter | Promise<RequestRouter> {
    const target = forwardTarget(head)
    const name = authorityOf(target.host, target.port)
    const routerTo = (answer: RouteAnswer): RequestRouter => {
      const found = this.#routingOf(name, answer)
      const inMesh = found !== undefined && !found.isOutsideMesh
      const failed = (failure: CallFailure): LocalReply => this.#failed(failure, head)
      const router = this.#options.requests.routerTo(found ?? externalRouting(target), () => undefined, inMesh)
      return { ...router, via: this.#pseudonym, failed }
    }
    const { knownRoutes } = this.#options
    const known = knownRoutes.ask(name)
    return known === "unknown" ? knownRoutes.find(name, this.#limits.routeMs).then(routerTo) : routerTo(known)
  }

  async #connect(target: ForwardTarget, client: Socket): Promise<Socket> {
    const { knownRoutes, outbound, observer = UNOBSERVED } = this.#options
    const observed = new ObservedConnection(observer, client)
    const name = authorityOf(target.host, target.port)
    let inMesh = false
    try {
      const routing = this.#routingOf(name, await knownRoutes.find(name, this.#limits.routeMs))
      inMesh = routing !== undefined
      if (routing === undefined) {
        const server = await tunnelExternally(target, this.#limits.routeMs)
        const reached = { destination: name, inMesh, transport: "passthrough", workload: undefined } as const
        server.once("close", () => observed.done(reached))
        return server
      }
      const { choice, endpoint, socket } = await outbound.tunnel(routing)
      const { tcpIdleTimeoutMs } = choice.destination?.limits ?? {}
      if (tcpIdleTimeoutMs !== undefined) socket.setTimeout(tcpIdleTimeoutMs, () => socket.destroy())
      const transport = socket instanceof TLSSocket ? "mtls" : "plaintext"
      const { host, port } = routing.spec.table
      const reached = { destination: authorityOf(host, port), inMesh, transport, workload: endpoint.workload } as const
      socket.once("close", () => observed.done(reached))
      return socket
    } catch (error) {
      observed.done({ destination: name, inMesh, transport: "none", workload: undefined }, CallFailure.of(error))
      throw error
    }
  }

  /** Undefined for a host outside of the mesh that may be called. */
  #routingOf(name: string, answer: RouteAnswer): HostRouting | undefined {
    // Fail closed: while it is unknown whether the host is in the mesh, it is not called as an external one.
    if (answer === "unknown" && !this.#isOutside(name))
      throw new CallFailure("route-unknown", `the control plane has not sent the routes of ${name} yet`)
    if (answer instanceof HostRouting) return answer
    if (this.#options.knownRoutes.policy?.isRegistryOnly === true) throw CallFailure.registryOnly(name)
    if (this.#options.allowExternal) return undefined
    throw new CallFailure("not-in-mesh", `${name} is not in the mesh; \`--allow-external\` allows such requests`)
  }

  /** While the control plane is down, the outbound policy decides about addresses. It contains no names. */
  #isOutside(name: string): boolean {
    const { policy } = this.#options.knownRoutes
    const address = addressIn(name)
    return address !== undefined && policy?.spec !== undefined && !policy.mayDemandMtls(address)
  }

  #failed({ status, code, message }: CallFailure, head: RequestHead): LocalReply {
    const { mesh, log } = this.#options
    log.info({ url: shownTarget(head), code, why: message }, "a request failed")
    return { status, body: `${mesh}: ${message}\n`, fields: [[`x-${mesh}-failure`, code]] }
  }
}
