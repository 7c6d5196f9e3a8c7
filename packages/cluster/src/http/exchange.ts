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

/** If all warnings together exceed this many characters, each is cut to ITEM_WARNING. */
const TOTAL_WARNINGS = 4096
const ITEM_WARNING = 256

/** Smaller responses are not counted: a connection itself costs more. */
const SMALL_ANSWER = 4096
/** How long a rejected body is read and discarded, so that the client still receives the rejection. */
const LINGER_MS = 5000

export interface ExchangeParts {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The impersonated user, if the caller impersonates one. */
  readonly user: User
  /** The share of the server that the request uses. */
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
  /** Empty until the body has been read. */
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

  /** Returns the same request with additional fields. */
  with(more: Partial<ExchangeParts>): Exchange {
    return new Exchange({ ...this.parts, ...more })
  }

  /** Runs a step of work on the body: at once for a small body, queued with other callers' work for a large one. */
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

  /** Picks a response format, or rejects the request with the wording of the server that handles the path. */
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
    // A write has already taken effect, so a 429 would be wrong. Its room was checked before it began.
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

  /** Rejects a caller that already has too many unread bytes. */
  checkRoom(bytes: number): void {
    if (!this.backlog.hasRoom(this.share, bytes))
      throw tooManyRequests("too many bytes are waiting for you; read pending responses first", 1)
  }

  outbox(bytes: number): Outbox {
    const { responseTimeout } = this.limits
    return new Outbox(this.response, this.share, this.backlog, { bytes, stalledMs: responseTimeout })
  }

  fail(error: ApiError): void {
    const retry = error.details?.retryAfterSeconds
    if (retry !== undefined) this.response.setHeader("Retry-After", `${retry}`)
    // A client that accepts only protobuf cannot read the JSON body, but it can read the status.
    const only = this.request.headers.accept === "application/vnd.kubernetes.protobuf" && error.code === 406
    const type = only ? "application/vnd.kubernetes.protobuf" : "application/json"
    const text = `${stringify(error.toStatus())}\n`
    if (this.request.complete) this.sendText(error.code, text, type)
    else this.#rejectUnread(error.code, text, type)
  }

  /**
   * Responds to a request whose body is still arriving. No other request can follow on the connection. Closing it at
   * once would reset it before the client has read the response, so the rest of the body is read and discarded for a
   * while.
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

/** Node writes a header value one byte per character, so UTF-8 is passed as latin1. */
function latin1(text: string): string {
  return Buffer.from(text).toString("latin1")
}
