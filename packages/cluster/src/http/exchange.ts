// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request and the answer that is being prepared for it: who asks, what was negotiated, which warnings go
// along. Handlers write through here, so that every answer has the same headers.

import type { IncomingMessage, ServerResponse } from "node:http"
import { ApiError, notAcceptable } from "../meta/status.js"
import type { User } from "../registry/context.js"
import type { Json, JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { printYaml } from "../wire/yaml.js"
import { type Accepted, ALL_MEDIA, type Forms, type Media, negotiate } from "./negotiate.js"

/** Beyond this many characters in all, each warning is cut to ITEM. */
const TOTAL_WARNINGS = 4096
const ITEM_WARNING = 256

export class Exchange {
  readonly #warnings: string[] = []

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly method: string,
    readonly path: string,
    readonly query: URLSearchParams,
    readonly user: User,
    readonly now: () => number,
  ) {}

  warn(text: string): void {
    if (!this.#warnings.includes(text)) this.#warnings.push(text)
  }

  /** Picks a form of answer, or refuses in the words of whoever serves the path. */
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
    this.response.statusCode = status
    this.response.setHeader("Content-Type", contentType)
    this.response.setHeader("Cache-Control", "no-cache, private")
    this.response.setHeader("Content-Length", bytes.length)
    this.response.end(this.method === "HEAD" ? undefined : bytes)
  }

  fail(error: ApiError): void {
    const retry = error.details?.retryAfterSeconds
    if (retry !== undefined) this.response.setHeader("Retry-After", `${retry}`)
    // A client that takes only protobuf cannot read the refusal either way; its status still speaks.
    const only = this.request.headers.accept === "application/vnd.kubernetes.protobuf" && error.code === 406
    this.sendText(
      error.code,
      `${stringify(error.toStatus())}\n`,
      only ? "application/vnd.kubernetes.protobuf" : "application/json",
    )
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

export type Handler = (exchange: Exchange) => Promise<void> | void
export type Answer = { status: number; body: JsonObject }
