// SPDX-License-Identifier: Apache-2.0
// One HTTP request and its response in preparation: the user, the negotiated format, and warnings. Handlers write through
// here, so that every response has the same headers.

import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiError, notAcceptable, tooManyRequests } from "../meta/status.js"
import type { User } from "../registry/context.js"
import type { Json } from "../value.js"
import { stringify } from "../wire/json.js"
import { printYaml } from "../wire/yaml.js"
import type { Backlog } from "./backlog.js"
import { HEAVY_BYTES, type HeavyWork } from "./heavy-work.js"
import type { Limits } from "./limits.js"
import { type Accepted, ALL_MEDIA, type Forms, type Media, negotiate } from "./negotiate.js"
import { Outbox } from "./outbox.js"
import type { Share } from "./share.js"

/** Beyond this many characters in all, each warning is cut to ITEM. */
const TOTAL_WARNINGS = 4096
const ITEM_WARNING = 256

/** Up to here an answer is not worth counting; what a connection costs by itself is more. */
const SMALL_ANSWER = 4096
/** How long a body that is not wanted is read and forgotten, so that the rejection is not lost with the connection. */
const LINGER_MS = 5000

export interface ExchangeParts {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** For whom the request is made. */
  readonly user: User
  /** Whose share of the server it uses. */
  readonly share: Share
  readonly backlog: Backlog
  readonly heavyWork: HeavyWork
  readonly limits: Limits
  readonly now: () => number
}

export class Exchange {
  readonly #warnings: string[] = []
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly user: User
  readonly share: Share
  /** Empty until it has been read. */
  body: Buffer = Buffer.alloc(0)
  readonly backlog: Backlog
  readonly limits: Limits
  readonly now: () => number

  constructor(readonly parts: ExchangeParts) {
    this.request = parts.request
    this.response = parts.response
    this.method = parts.method
    this.path = parts.path
    this.query = parts.query
    this.user = parts.user
    this.share = parts.share
    this.backlog = parts.backlog
    this.limits = parts.limits
    this.now = parts.now
  }

  /** The same request, with more known about it. */
  with(more: Partial<ExchangeParts>): Exchange {
    return new Exchange({ ...this.parts, ...more })
  }

  /** A step of work on the body, at once for a small one and in turn with other callers for a large one. */
  async inTurn<T>(step: () => T): Promise<T> {
    if (this.body.length < HEAVY_BYTES) return step()
    return this.parts.heavyWork.run(this.share, () => {
      if (this.response.destroyed) throw new Error("the client left before its request was answered")
      return step()
    })
  }

  warn(text: string): void {
    if (!this.#warnings.includes(text)) this.#warnings.push(text)
  }

  /** Picks a response format, or rejects the request in the words of the server that handles the path. */
  accept(forms: Forms, media: readonly Media[], builtin: boolean): Accepted {
    const accepted = negotiate(this.request.headers.accept, { media, forms })
    if (accepted !== undefined) return this.query.has("pretty") ? { ...accepted, pretty: true } : accepted
    if (builtin && negotiate(this.request.headers.accept, { media: ALL_MEDIA, forms: anyForm }) === undefined)
      throw new ApiError(
        406,
        "NotAcceptable",
        `406: Not Acceptable\n\nAvailable representations: ${ALL_MEDIA.join(", ")}`,
        {},
      )
    throw notAcceptable(`only the following media types are accepted: ${ALL_MEDIA.join(", ")}`)
  }

  warningHeaders(): void {
    if (this.#warnings.length === 0) return
    const total = this.#warnings.reduce((sum, text) => sum + Array.from(text).length, 0)
    const cut = (text: string): string =>
      total > TOTAL_WARNINGS ? Array.from(text).slice(0, ITEM_WARNING).join("") : text
    this.response.setHeader(
      "Warning",
      this.#warnings.map(text => `299 - ${latin1(quoted(cut(text)))}`),
    )
  }

  send(status: number, body: Json, accepted?: Accepted): void {
    const media = accepted?.media === "application/yaml" ? "application/yaml" : "application/json"
    const text =
      media === "application/yaml" ? printYaml(body) : `${stringify(body, accepted?.pretty === true ? 2 : undefined)}\n`
    this.sendText(status, text, media)
  }

  sendText(status: number, text: string | Buffer, contentType: string): void {
    if (this.response.headersSent) return
    this.warningHeaders()
    const bytes = typeof text === "string" ? Buffer.from(text) : text
    // A write has taken effect by now: "try again" would be a lie. It was asked for room before it began.
    if (bytes.length > SMALL_ANSWER && !this.isWrite) this.checkRoom(bytes.length)
    this.response.statusCode = status
    this.response.setHeader("Content-Type", contentType)
    this.response.setHeader("Cache-Control", "no-cache, private")
    this.response.setHeader("Content-Length", bytes.length)
    if (this.method === "HEAD") this.response.end()
    else if (bytes.length > SMALL_ANSWER) {
      const outbox = this.outbox(Number.POSITIVE_INFINITY)
      outbox.push(bytes)
      outbox.end()
    } else this.response.end(bytes)
  }

  get isWrite(): boolean {
    return this.method !== "GET" && this.method !== "HEAD"
  }

  /** Rejects a caller who has too many bytes waiting to be read already. */
  checkRoom(bytes: number): void {
    if (!this.backlog.hasRoom(this.share, bytes))
      throw tooManyRequests("too many bytes wait for you already, read your answers first", 1)
  }

  outbox(bytes: number): Outbox {
    const { responseTimeout } = this.limits
    return new Outbox(this.response, this.share, this.backlog, { bytes, stalledMs: responseTimeout })
  }

  fail(error: ApiError): void {
    const retry = error.details?.retryAfterSeconds
    if (retry !== undefined) this.response.setHeader("Retry-After", `${retry}`)
    // A client that takes only protobuf cannot read the rejection either way; its status still speaks.
    const only = this.request.headers.accept === "application/vnd.kubernetes.protobuf" && error.code === 406
    const type = only ? "application/vnd.kubernetes.protobuf" : "application/json"
    const text = `${stringify(error.toStatus())}\n`
    if (this.request.complete) this.sendText(error.code, text, type)
    else this.#rejectUnread(error.code, text, type)
  }

  /**
   * Answers a request whose body is still coming. No other request can follow it on the connection, and closing that at
   * once would reset it under the client, which then never sees the answer: so the rest is read and forgotten for a while.
   */
  #rejectUnread(status: number, text: string, contentType: string): void {
    const { request, response } = this
    if (response.headersSent) return
    this.warningHeaders()
    const bytes = Buffer.from(text)
    response.writeHead(status, {
      "Content-Type": contentType,
      "Content-Length": bytes.length,
      "Cache-Control": "no-cache, private",
      Connection: "close",
    })
    response.write(bytes)
    const done = (): void => {
      clearTimeout(timer)
      response.end()
    }
    const timer = setTimeout(done, LINGER_MS)
    request.on("end", done)
    request.on("close", done)
    request.resume()
  }

  notFoundText(): void {
    this.response.setHeader("X-Content-Type-Options", "nosniff")
    this.sendText(404, "404 page not found\n", "text/plain; charset=utf-8")
  }
}

const anyForm: Forms = { has: () => true }

function quoted(text: string): string {
  const plain = Array.from(text, c => ((c.codePointAt(0) ?? 0) < 32 || c === "\x7f" ? " " : c)).join("")
  return `"${plain.replace(/["\\]/g, match => `\\${match}`)}"`
}

/** Header bytes are UTF-8; Node takes them one character per byte. */
function latin1(text: string): string {
  return Buffer.from(text).toString("latin1")
}
