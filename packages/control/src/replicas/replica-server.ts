// SPDX-License-Identifier: Apache-2.0
// Answers other replicas' queries about local observations. Only control planes of this mesh may connect, over mTLS.
// They have authorized the user with the cluster, so this server does not do so again. Queries are answered locally and
// never forwarded.

import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import type { TLSSocket } from "node:tls"
import { limitConnections } from "@merlon/wire/limits"
import { TLS_INTERNAL } from "@merlon/wire/tls"
import type { TrustSpec } from "@merlon/xds"
import { bindHost } from "@merlon/xds/runtime"
import type { ReplicaIdentity } from "./replica-names.js"
import { verifyReplica } from "./verify-replica.js"

export interface ReplicaCredentials {
  /** PEM, with the leaf certificate first. */
  readonly certificate: string
  readonly key: string
  readonly trust: TrustSpec
}

export interface ReplicaServerOptions {
  readonly credentials: () => ReplicaCredentials
  readonly identity: ReplicaIdentity
  /** Answers a query; `undefined` if the object does not exist. */
  readonly answer: (path: string, query: URLSearchParams) => Promise<object | undefined>
  /** Sends lines until either side ends; false if the path is unknown. */
  readonly follow: (path: string, query: URLSearchParams, reply: ServerResponse) => boolean
  readonly log: (message: string, error: unknown) => void
}

export class ReplicaServer {
  readonly #options: ReplicaServerOptions
  readonly #server: Server

  constructor(options: ReplicaServerOptions) {
    this.#options = options
    this.#server = createServer(
      {
        ...this.#tls(),
        requestCert: true,
        rejectUnauthorized: true,
        handshakeTimeout: 10_000,
        headersTimeout: 10_000,
        requestTimeout: 10_000,
        keepAliveTimeout: 30_000,
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: 32_768,
      },
      (asked, reply) => {
        asked.resume()
        this.#answer(asked, reply).catch((error: unknown) => {
          options.log("a query of another replica failed", error)
          if (reply.headersSent) reply.destroy()
          else send(reply, 500, { message: "the replica failed on this query; read its log" })
        })
      },
    )
    limitConnections(this.#server)
    this.#server.on("clientError", (_, socket) => socket.destroy())
    // Scanners and unknown clients: logging these errors helps no operator.
    this.#server.on("tlsClientError", () => {})
  }

  /** Returns the port. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen({ port, host: bindHost(host) }, () => {
        this.#server.off("error", reject)
        this.#server.on("error", error => this.#options.log("the replica port failed", error))
        resolve((this.#server.address() as AddressInfo).port) // a TCP server has one
      })
    })
  }

  /** Disconnects all peers after a change of our certificate or trust bundle: each has to authenticate again. */
  credentialsChanged(): void {
    this.#server.setSecureContext(this.#tls())
    this.#server.closeAllConnections()
  }

  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  #tls(): object {
    const { certificate, key, trust } = this.#options.credentials()
    return { cert: certificate, key, ca: trust.bundle, ...TLS_INTERNAL }
  }

  async #answer(asked: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { credentials, identity, answer, follow } = this.#options
    const socket = asked.socket as TLSSocket // the server accepts only TLS
    const shown = socket.authorized ? socket.getPeerX509Certificate()?.raw : undefined
    const rejection = verifyReplica(shown, identity, credentials().trust, Date.now())
    if (rejection !== undefined) return reject(reply, 403, rejection)
    if (asked.method !== "GET") return reject(reply, 405, "only GET is allowed")
    const [path = "", search = ""] = (asked.url ?? "/").split("?", 2)
    const query = new URLSearchParams(search)
    if (follow(path, query, reply)) return
    const found = await answer(path, query)
    if (found === undefined) send(reply, 404, { message: "not found" })
    else send(reply, 200, found)
  }
}

/** Closes the connection: nothing more is read from a rejected client. */
function reject(reply: ServerResponse, code: number, message: string): void {
  reply.setHeader("connection", "close")
  send(reply, code, { message })
}

function send(reply: ServerResponse, code: number, body: object): void {
  const text = JSON.stringify(body)
  reply.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
  reply.end(text)
}
