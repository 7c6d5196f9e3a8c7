// SPDX-License-Identifier: Apache-2.0
// The HTTPS server, from the socket to the handler: authenticate, impersonate, authorize, then read the body within the
// user's share of bytes, take a slot within the user's share, and only then handle the request. TLS only.

import { constants } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import type { ApiService } from "../aggregation/api-service.js"
import type { ApiServices } from "../aggregation/api-services.js"
import { forward } from "../aggregation/forward.js"
import type { FrontProxyIdentity } from "../aggregation/front-proxy.js"
import { anonymous, authenticate } from "../auth/authenticate.js"
import { impersonate, readImpersonation } from "../auth/impersonate.js"
import type { Credentials } from "../auth/pki.js"
import { type Attributes, notAllowed, type Rbac } from "../auth/rbac.js"
import type { TokenChecker } from "../auth/tokens.js"
import { ClusterError } from "../errors.js"
import { messageOf } from "../message-of.js"
import { ApiError, internalError, methodNotAllowed, methodNotSupported, serverTimeout } from "../meta/status.js"
import { stringify } from "../wire/json.js"
import { readBody } from "./body.js"
import { Exchange } from "./exchange.js"
import { Fairness } from "./fairness.js"
import { HeavyWork } from "./heavy-work.js"
import type { Limits } from "./limits.js"
import { handlePath, type PathServices } from "./path-handlers.js"
import { type PathRequest, parseRequest, type ResourceRequest } from "./request-info.js"
import { handleResource, type ResourceServices } from "./resource-handler.js"
import { type Share, shareOf } from "./share.js"

/** Serves the groups that this server does not serve itself. */
export interface Aggregation {
  readonly apiServices: ApiServices
  readonly identity: FrontProxyIdentity
}

const TCP_KEEPALIVE_MS = 30_000
/** The share of a request until its user is authenticated. */
const anonymousShare: Share = { owner: anonymous.name, system: false }

export interface ServerServices {
  readonly credentials: Credentials
  readonly bearers: TokenChecker
  readonly rbac: Rbac
  readonly resources: Omit<ResourceServices, "admitWatch">
  readonly paths: Omit<PathServices, "metrics">
  readonly aggregation: Aggregation
  readonly limits: Limits
  /** Service accounts of these namespaces count as the system. */
  readonly systemNamespaces: ReadonlySet<string>
  readonly clock: () => number
  log(error: unknown, request: string): void
}

export class ApiServer {
  readonly server: Server
  readonly fairness: Fairness
  readonly #open = new Set<() => void>()
  readonly #heavyWork = new HeavyWork()
  #requests = 0

  constructor(readonly services: ServerServices) {
    const { credentials, limits } = services
    this.fairness = new Fairness(limits)
    this.server = createServer(
      {
        cert: credentials.serverCertificate,
        key: credentials.serverKey,
        ca: credentials.caCertificate,
        requestCert: true,
        // The handshake rejects no client: a client without a certificate may send a token or be anonymous.
        rejectUnauthorized: false,
        ...TLS_FLOOR,
        // A TLS 1.2 session ticket would contain the session key.
        secureOptions: constants.SSL_OP_NO_TICKET,
        maxHeaderSize: limits.maxHeaderSize,
        // A client that never starts the TLS handshake is treated like one that never sends its request.
        handshakeTimeout: limits.headersTimeout,
        headersTimeout: limits.headersTimeout,
        requestTimeout: limits.requestTimeout,
        keepAliveTimeout: 120_000,
        connectionsCheckingInterval: 1000,
      },
      (request, response) => void this.#serve(request, response),
    )
    this.server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) =>
      this.#malformed(error, socket as TLSSocket),
    )
    // Without this, a response to the error above would wait for a handshake that may never complete, and keep the
    // connection open.
    this.server.on("tlsClientError", (_, socket) => socket.destroy())
    this.server.on("connection", (socket: Socket) => {
      this.fairness.connections.opened(socket)
      // Detects a peer that vanished during a watch without events.
      socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests++
    const method = request.method ?? "GET"
    const target = request.url ?? "/"
    const mark = target.indexOf("?")
    const rawPath = mark < 0 ? target : target.slice(0, mark)
    const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1))
    const { clock, limits, systemNamespaces, bearers, rbac } = this.services
    let exchange = new Exchange({
      ...{ request, response, method, path: rawPath, query, limits, now: clock },
      ...{ user: anonymous, share: anonymousShare, backlog: this.fairness.backlog },
      heavyWork: this.#heavyWork,
    })
    try {
      const info = parseRequest(method, rawPath, query)
      const caller = await authenticate(request, bearers)
      const share = shareOf(caller, systemNamespaces)
      response.on("close", this.fairness.connections.serving(request.socket, share))
      const wanted = readImpersonation(request.headers, request.rawHeaders)
      const user = wanted === undefined ? caller : await impersonate(caller, wanted, rbac)
      exchange = exchange.with({ user, share })
      await this.#authorize(exchange, info)
      // `close` was already emitted if the client disconnected during authentication, so it must not be awaited.
      if (response.destroyed) return
      // Watches have their own limit and take no slots of short requests.
      if (info.kind === "resource" && info.verb === "watch") await this.#dispatch(exchange, info)
      else await this.#dispatchInSlot(exchange, info)
    } catch (error) {
      try {
        this.#fail(exchange, error)
      } catch (error) {
        // No caller awaits this promise: an error while sending must close the connection, not end the process.
        this.services.log(error, `${method} ${rawPath}`)
        response.destroy()
      }
    }
  }

  /**
   * Reads the body first, within its owner's share of bytes. A slot is taken only after that, and only until the
   * response is ready.
   */
  async #dispatchInSlot(exchange: Exchange, info: ResourceRequest | PathRequest): Promise<void> {
    const { request, response, share, isWrite } = exchange
    // A client that stops reading a response is disconnected.
    response.setTimeout(this.services.limits.responseTimeout, () => response.destroy())
    const claim = this.fairness.body(share)
    try {
      if (isWrite) {
        exchange.body = await readBody(request, bytes => claim.take(bytes))
        exchange.checkRoom(exchange.body.length)
      }
      // Health checks take no slot: they cost little and matter most when the server is overloaded.
      const leave = isHealth(info) ? () => undefined : this.fairness.enter(share, isWrite)
      try {
        await this.#dispatch(exchange, info)
      } finally {
        leave()
      }
    } finally {
      claim.giveBack()
    }
  }

  async #authorize(exchange: Exchange, info: ResourceRequest | PathRequest): Promise<void> {
    const attributes = attributesOf(info, exchange.query)
    const { allowed } = await this.services.rbac.authorize(exchange.user, attributes)
    if (!allowed) throw notAllowed(exchange.user, attributes, info.kind === "resource" ? info.name : "")
  }

  async #dispatch(exchange: Exchange, info: ResourceRequest | PathRequest): Promise<void> {
    const behind = this.#behind(info)
    if (behind !== undefined) {
      const { apiServices, identity } = this.services.aggregation
      if (info.kind === "resource" && info.verb === "watch")
        this.#admitWatch(exchange, () => exchange.response.destroy())
      await forward(exchange, behind, { backends: apiServices.backends, identity })
      return
    }
    const found =
      info.kind === "path"
        ? await handlePath(exchange, { ...this.services.paths, metrics: () => this.#metrics() })
        : await handleResource(exchange, info, {
            ...this.services.resources,
            admitWatch: (own, close) => this.#admitWatch(own, close),
          })
    if (!found) exchange.notFoundText()
  }

  /** Groups of Kubernetes are never served by an aggregated server. */
  #behind(info: ResourceRequest | PathRequest): ApiService | undefined {
    const { apiServices } = this.services.aggregation
    const [, first, group = "", version = "", ...more] = info.kind === "path" ? info.path.split("/") : []
    const place =
      info.kind === "resource" ? info : first === "apis" && more.join("") === "" ? { group, version } : undefined
    if (place === undefined || place.group === "" || place.version === "") return undefined
    const { catalog } = this.services.resources.registry
    return catalog.isBuiltinGroup(place.group) ? undefined : apiServices.find(place.group, place.version)
  }

  #admitWatch(exchange: Exchange, close: () => void): void {
    const leave = this.fairness.watch(exchange.share)
    this.#open.add(close)
    exchange.response.on("close", () => {
      leave()
      this.#open.delete(close)
    })
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (exchange.response.headersSent) {
      exchange.response.destroy()
      return
    }
    if (error instanceof ApiError) {
      exchange.fail(error)
      return
    }
    // A client that disconnected during its own request is not a server error.
    if (exchange.request.errored !== null || exchange.response.destroyed) {
      exchange.response.destroy()
      return
    }
    this.services.log(error, `${exchange.method} ${exchange.path}`)
    const passing = error instanceof ClusterError && error.code === "store-unreachable"
    exchange.fail(passing ? serverTimeout(messageOf(error)) : internalError(messageOf(error)))
  }

  /** Node rejects unknown methods before any handler; Kubernetes responds with 405. */
  #malformed(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: TLSSocket): void {
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const line = error.rawPacket?.toString("latin1").split("\r\n", 1)[0] ?? ""
    const [, path = "/"] = line.split(" ")
    if (error.code === "HPE_INVALID_METHOD" && /^[A-Z]+ \S+ HTTP\/1\.[01]$/.test(line)) {
      const info = parseRequest("", path.split("?")[0] ?? "/", new URLSearchParams())
      const custom = info.kind === "resource" && !this.services.resources.registry.catalog.isBuiltinGroup(info.group)
      const status = (
        info.kind === "resource" && custom
          ? methodNotSupported({ group: info.group, resource: info.resource }, "")
          : methodNotAllowed()
      ).toStatus()
      const body = `${stringify(status)}\n`
      socket.end(
        `HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      )
      return
    }
    const status =
      error.code === "HPE_HEADER_OVERFLOW"
        ? "431 Request Header Fields Too Large"
        : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
          ? "408 Request Timeout"
          : "400 Bad Request"
    socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`)
  }

  #metrics(): string {
    const { reads, writes, watches, connections, bodyBytes, backlogBytes } = this.fairness.load
    const gauge = (name: string, help: string, value: number, type = "gauge"): string =>
      `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`
    return [
      gauge("merlon_cluster_requests_total", "Requests served.", this.#requests, "counter"),
      gauge("merlon_cluster_reads_in_flight", "Reads being served.", reads),
      gauge("merlon_cluster_writes_in_flight", "Writes being served.", writes),
      gauge("merlon_cluster_watches", "Watches open.", watches),
      gauge("merlon_cluster_connections", "Connections open.", connections),
      gauge("merlon_cluster_body_bytes", "Bytes of requests that are arriving or being worked on.", bodyBytes),
      gauge(
        "merlon_cluster_backlog_bytes",
        "Bytes of responses and watch events that clients have not read yet.",
        backlogBytes,
      ),
      gauge("merlon_cluster_store_revision", "Newest revision of the store.", this.services.paths.store.revision()),
      gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
    ].join("")
  }

  /** Ends watches, lets short requests finish, then closes the remaining connections. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>(resolve => this.server.close(() => resolve()))
    for (const end of this.#open) end()
    this.server.closeIdleConnections()
    const timer = setTimeout(() => {
      this.fairness.connections.destroyAll()
    }, graceMs)
    await closed
    clearTimeout(timer)
  }
}

function isHealth(info: ResourceRequest | PathRequest): boolean {
  return info.kind === "path" && /^\/(?:healthz|livez|readyz)(?:\/|$)/.test(info.path)
}

function attributesOf(info: ResourceRequest | PathRequest, query: URLSearchParams): Attributes {
  if (info.kind === "path") return { path: info.path, verb: info.verb }
  let name = info.name
  if (name === "" && (info.verb === "list" || info.verb === "watch" || info.verb === "deletecollection")) {
    // A list that can only return one object is authorized like a list of that name.
    const match = /^metadata\.name==?([^,=!]+)$/.exec(query.get("fieldSelector") ?? "")
    if (match?.[1] !== undefined) name = match[1]
  }
  return {
    verb: info.verb,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name,
  }
}
