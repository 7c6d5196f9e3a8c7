// SPDX-License-Identifier: Apache-2.0
// The webhook server. Every request gets an answer, and requests that cannot be evaluated are rejected. The certificate
// can be changed while it serves.

import { constants } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { limitConnections } from "@merlon/wire/limits"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { bindHost } from "@merlon/xds/runtime"
import type { AdmissionHandler } from "./handlers.js"
import { exceedsJson, type JsonBounds } from "./json-bounds.js"
import { readReview, writeReview } from "./review.js"

export interface ServingKeyPair {
  /** PEM, with the leaf certificate first. */
  readonly certificate: string
  readonly key: string
}

export interface WebhookObservation {
  /** A known path, or `other`. */
  readonly path: string
  readonly outcome: "allowed" | "rejected" | "unreadable" | "failed"
  readonly milliseconds: number
}

export interface WebhookServerOptions {
  readonly credentials: ServingKeyPair
  readonly handlers: ReadonlyMap<string, AdmissionHandler>
  /** Returns the handler's path; undefined if the request does not come from the API server. */
  readonly authenticate: (path: string, asked: IncomingMessage) => Promise<string | undefined> | string | undefined
  readonly observe?: (observation: WebhookObservation) => void
  /** Answers requests for other paths on this port. */
  readonly others?: {
    serves(path: string): boolean
    answer(asked: IncomingMessage, reply: ServerResponse): Promise<void>
  }
  readonly log?: (message: string, error: unknown) => void
  readonly maxBody?: number
  /** Limit for all bodies in memory. */
  readonly maxHeld?: number
  readonly handshakeMs?: number
}

/** The API server accepts objects of 3 MB, and an update contains two. */
const MAX_BODY = 7 << 20
/** Any client that reaches the port may send bodies. Limits the bytes of all connections together. */
const MAX_HELD = 64 << 20
const HANDSHAKE_MS = 10_000
/** More than any object of 3 MB that users write, and few enough to be parsed in a moment. */
const BOUNDS: JsonBounds = { depth: 128, values: 250_000 }

export class WebhookServer {
  readonly #server: Server
  readonly #options: WebhookServerOptions
  #held = 0

  constructor(options: WebhookServerOptions) {
    this.#options = options
    this.#server = createServer(
      {
        ...tls(options.credentials),
        // A client certificate is requested but not required. `others` decides about it.
        requestCert: true,
        rejectUnauthorized: false,
        handshakeTimeout: options.handshakeMs ?? HANDSHAKE_MS,
        headersTimeout: 10_000,
        requestTimeout: 20_000,
        keepAliveTimeout: 90_000,
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: 16_384,
      },
      (asked, reply) => {
        this.#answer(asked, reply).catch((error: unknown) => {
          options.log?.("a webhook request was aborted", error)
          reply.destroy()
        })
      },
    )
    limitConnections(this.#server)
    this.#server.on("clientError", (_, socket) => {
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
      else socket.destroy()
    })
    // Scanners and half-open connections: logging these errors helps no operator. Sending a reply would wait for a
    // handshake that may never come, and would keep the connection open.
    this.#server.on("tlsClientError", (_, socket) => socket.destroy())
  }

  /** Returns the port. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen({ port, host: bindHost(host) }, () => {
        this.#server.off("error", reject)
        this.#server.on("error", error => this.#options.log?.("the webhook server failed", error))
        resolve((this.#server.address() as AddressInfo).port) // a TCP server has one
      })
    })
  }

  /** Applies to new connections. Throws if certificate and key do not match, and keeps the old ones. */
  setKeyPair(credentials: ServingKeyPair): void {
    this.#server.setSecureContext(tls(credentials))
  }

  /** Answers pending requests, then stops. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
    const cut = setTimeout(() => this.#server.closeAllConnections(), 5_000)
    await closed
    clearTimeout(cut)
  }

  async #answer(asked: IncomingMessage, reply: ServerResponse): Promise<void> {
    const began = performance.now()
    const given = (asked.url ?? "").split("?", 1)[0] ?? ""
    if (given === "/healthz") {
      asked.resume()
      return end(reply, 200, "ok")
    }
    const { others } = this.#options
    if (others?.serves(given)) return others.answer(asked, reply)
    // Fail closed before the body is read. The path may contain a secret, so the answer does not repeat it.
    const path = (await this.#options.authenticate(given, asked)) ?? ""
    const handler = this.#options.handlers.get(path)
    const observe = (outcome: WebhookObservation["outcome"]): void =>
      this.#options.observe?.({
        path: handler === undefined ? "other" : path,
        outcome,
        milliseconds: performance.now() - began,
      })
    const error = rejectedEarly(asked, handler !== undefined)
    if (error !== undefined) {
      observe("unreadable")
      reply.setHeader("connection", "close")
      return end(reply, error.status, error.text)
    }
    const held = { bytes: 0 }
    try {
      await this.#review(asked, reply, { path, handler, observe, held })
    } finally {
      this.#held -= held.bytes
    }
  }

  async #review(
    asked: IncomingMessage,
    reply: ServerResponse,
    { path, handler, observe, held }: Review,
  ): Promise<void> {
    const body = await this.#read(asked, held)
    if (!Buffer.isBuffer(body)) {
      observe("unreadable")
      reply.setHeader("connection", "close")
      return end(reply, body.status, body.text)
    }
    if (exceedsJson(body, BOUNDS)) {
      observe("unreadable")
      return end(
        reply,
        413,
        `the object has more than ${BOUNDS.values} values, or is nested deeper than ${BOUNDS.depth}`,
      )
    }
    const request = readReview(body.toString("utf8"))
    if (typeof request === "string") {
      observe("unreadable")
      return end(reply, 400, request)
    }
    try {
      const answer = (await handler?.(request)) ?? {}
      observe(answer.rejected === undefined ? "allowed" : "rejected")
      send(reply, writeReview(request.uid, answer))
    } catch (error) {
      // Fail closed: an object that could not be validated is rejected.
      this.#options.log?.(`${path} failed on ${request.operation} of \`${request.kind}\``, error)
      observe("failed")
      const rejected = {
        error: "validation-failed" as const,
        code: 500,
        reason: "InternalError",
        message: "the control plane failed to validate this object; read its log",
      }
      send(reply, writeReview(request.uid, { rejected }))
    }
  }

  /** The bytes count as held until the request is answered: a parsed value is larger than its text. */
  async #read(asked: IncomingMessage, held: { bytes: number }): Promise<Buffer | RequestError> {
    const { maxBody = MAX_BODY, maxHeld = MAX_HELD } = this.#options
    const chunks: Buffer[] = []
    // No encoding is set, so chunks are bytes.
    for await (const chunk of asked as AsyncIterable<Buffer>) {
      held.bytes += chunk.length
      this.#held += chunk.length
      if (held.bytes > maxBody) return { status: 413, text: "the body is too large" }
      if (this.#held > maxHeld) return { status: 503, text: "too many concurrent reviews; retry in a few seconds" }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

interface Review {
  readonly path: string
  readonly handler: AdmissionHandler | undefined
  readonly observe: (outcome: WebhookObservation["outcome"]) => void
  readonly held: { bytes: number }
}

interface RequestError {
  readonly status: number
  readonly text: string
}

function tls({ certificate, key }: ServingKeyPair) {
  // Without tickets: an API server keeps its connections, and a TLS 1.2 ticket would contain the session key.
  return { cert: certificate, key, ...TLS_FLOOR, secureOptions: constants.SSL_OP_NO_TICKET }
}

function rejectedEarly({ method, headers }: IncomingMessage, known: boolean): RequestError | undefined {
  if (!known) return { status: 404, text: "not found" }
  if (method !== "POST") return { status: 405, text: "only POST" }
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase()
  return type === "application/json" ? undefined : { status: 415, text: "only application/json" }
}

function send(reply: ServerResponse, json: string): void {
  reply.writeHead(200, { "content-type": "application/json" })
  reply.end(json)
}

function end(reply: ServerResponse, status: number, text: string): void {
  reply.writeHead(status, { "content-type": "text/plain" })
  reply.end(`${text}\n`)
}
