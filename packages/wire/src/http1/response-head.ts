// SPDX-License-Identifier: Apache-2.0
// Parses a response's status line and headers as strictly as a request's, and writes them for the client. The server is
// trusted, but if it is tricked into a response, the client and the proxy must agree on where the response ends.

import { STATUS_CODES } from "node:http"
import { CR, FIELD, SP } from "../http/characters.js"
import { type Fields, hasOption } from "../http/fields.js"
import { type Framing, responseFraming } from "../http/framing.js"
import type { HttpVersion, RequestHead, ResponseHead, WrittenHead } from "../http/head.js"
import type { HttpError } from "../http/http-error.js"
import type { LocalReply } from "../http/local-reply.js"
import { keepsResponseField } from "../http/response-fields.js"
import { FIELD_KIND } from "../http2/field-kind.js"
import { type HeaderBlock, parseHeaderLines } from "./header-block.js"

/** A response head as received over HTTP/1. */
export interface Http1ResponseHead extends ResponseHead {
  readonly minorVersion: number
  /** Whether the connection can carry another request after this response. */
  readonly keepAlive: boolean
}

export function parseResponseHead(text: string, method: string, maxLines: number): Http1ResponseHead | HttpError {
  const lineEnd = text.indexOf("\r\n")
  const minorVersion = text.startsWith("HTTP/1.1 ") ? 1 : text.startsWith("HTTP/1.0 ") ? 0 : -1
  const status = statusAt(text, 9)
  if (minorVersion < 0 || status === undefined) return "bad-status-line"
  // RFC 9112 section 4 requires a space before an empty reason. Many servers omit it, which is harmless.
  const after = text.charCodeAt(12)
  if (after !== SP && after !== CR) return "bad-status-line"
  for (let at = 12; at < lineEnd; at++) {
    if (FIELD[text.charCodeAt(at)] !== 1) return "bad-status-line"
  }
  const headers = parseHeaderLines(text, lineEnd + 2, maxLines)
  if (typeof headers === "string") return headers
  const framing = responseFraming(headers, minorVersion, status, method)
  if (typeof framing === "string") return framing
  return {
    status,
    reason: text.slice(13, Math.max(13, lineEnd)),
    minorVersion,
    headers,
    framing,
    trailers: framing.kind === "chunked",
    keepAlive: framing.kind !== "close" && !announcesContent(headers, framing) && staysOpen(headers, minorVersion),
  }
}

/** A longer head is not cached. */
const MAX_KEPT = 2_048

/**
 * Heads of one server's responses. Most are byte for byte the same as the one before; then the same object is returned,
 * with what is known about it. INVARIANT: code that changes a head removes only what the head's own lines name, which
 * has the same result each time.
 */
export class ResponseHeads {
  readonly #maxLines: number
  #text = ""
  #toHead = false
  #head: Http1ResponseHead | undefined

  constructor(maxLines: number) {
    this.#maxLines = maxLines
  }

  read(text: string, method: string): Http1ResponseHead | HttpError {
    const toHead = method === "HEAD"
    if (this.#head !== undefined && text === this.#text && toHead === this.#toHead) return this.#head
    const head = parseResponseHead(text, method, this.#maxLines)
    if (typeof head === "string" || head.status < 200 || text.length > MAX_KEPT) return head
    const written: WrittenHead = { toHead, version: "h2", framing: "none", connection: "", text: "" }
    this.#text = text
    this.#toHead = toHead
    this.#head = { ...head, written }
    return this.#head
  }
}

/** Three digits, the first not zero: codes above 599 have no class, but some servers send them. */
function statusAt(text: string, at: number): number | undefined {
  const hundreds = text.charCodeAt(at) - 0x30
  const tens = text.charCodeAt(at + 1) - 0x30
  const ones = text.charCodeAt(at + 2) - 0x30
  const digits = hundreds >= 1 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9
  return digits ? hundreds * 100 + tens * 10 + ones : undefined
}

/**
 * Whether a response that ends with its head announces content (to HEAD, 204, 304). Some servers send that content too,
 * and in a later packet it would be read as the response to the next request on the connection.
 */
function announcesContent(headers: HeaderBlock, { kind }: Framing): boolean {
  if (kind !== "none") return false
  for (let index = 0; index < headers.size; index++) {
    const field = headers.kind(index)
    if (field === FIELD_KIND.transferEncoding) return true
    if (field === FIELD_KIND.contentLength && Number(headers.value(index)) > 0) return true
  }
  return false
}

function staysOpen(headers: HeaderBlock, minorVersion: number): boolean {
  let keepAlive = minorVersion === 1
  for (let index = 0; index < headers.size; index++) {
    if (headers.kind(index) !== FIELD_KIND.connection) continue
    const options = headers.value(index).toLowerCase()
    if (hasOption(options, "close")) return false
    if (hasOption(options, "keep-alive")) keepAlive = true
  }
  return keepAlive
}

/**
 * The `Connection` header line. An HTTP/1.0 client must be told that the connection stays open, others that it closes.
 */
export function connectionLine(keepAlive: boolean, version: HttpVersion): string {
  if (!keepAlive) return "connection: close\r\n"
  return version === "http/1.0" ? "connection: keep-alive\r\n" : ""
}

/** The framing for this client: content that HTTP/1.0 cannot frame ends when the connection closes. */
export function framingFor(response: ResponseHead, version: HttpVersion): Framing["kind"] {
  const { kind } = response.framing
  if (kind === "none" || kind === "length") return kind
  return version === "http/1.0" ? "close" : "chunked"
}

/** `connection` is a complete header line or empty. */
export function responseHeadText(
  response: ResponseHead,
  request: Pick<RequestHead, "method" | "version">,
  framing: Framing["kind"],
  connection: string,
): string {
  const { written } = response
  if (written === undefined) return newHeadText(response, request, framing, connection)
  const { version } = request
  const toHead = request.method === "HEAD"
  const same = written.framing === framing && written.connection === connection
  if (same && written.toHead === toHead && written.version === version && written.text !== "") return written.text
  const text = newHeadText(response, request, framing, connection)
  Object.assign(written, { toHead, version, framing, connection, text })
  return text
}

function newHeadText(
  { headers, status, reason }: ResponseHead,
  { method, version }: Pick<RequestHead, "method" | "version">,
  framing: Framing["kind"],
  connection: string,
): string {
  // The response to HEAD has the framing that the content would have had (RFC 9110 section 9.3.2).
  const wouldBe = method === "HEAD" && version === "http/1.1" && headers.has(FIELD_KIND.transferEncoding)
  let length = ""
  const lines = headers.lines(index => {
    if (!keepsResponseField(headers, index, status)) return switches(headers, index, status)
    if (headers.kind(index) !== FIELD_KIND.contentLength || !headers.line(index).includes("\t")) return true
    // Some clients cannot parse a number next to a tab.
    length = `content-length: ${headers.value(index)}\r\n`
    return false
  })
  if (framing === "none" && needsLength(method, status) && !headers.has(FIELD_KIND.contentLength))
    length = "content-length: 0\r\n"
  const encoded = framing === "chunked" || wouldBe ? "transfer-encoding: chunked\r\n" : ""
  return `HTTP/1.1 ${status} ${reason}\r\n${lines}${encoded}${length}${connection}\r\n`
}

/**
 * Whether a response without content must say so, because its client would otherwise wait for the connection to close
 * (RFC 9112 section 6.3). In HTTP/2 the last frame says it.
 */
function needsLength(method: string, status: number): boolean {
  return method !== "HEAD" && method !== "CONNECT" && status >= 200 && status !== 204 && status !== 304
}

/** HTTP/1.1 only: the Upgrade header of a 101 or a 426 (RFC 9110 section 15.5.22). */
function switches(headers: Fields, index: number, status: number): boolean {
  return headers.kind(index) === FIELD_KIND.upgrade && (status === 101 || status === 426)
}

/** A local reply as text. `connection` is a complete header line or empty. */
export function localReplyText(
  { status, body, contentType = "text/plain", fields }: LocalReply,
  method: string,
  connection: string,
): string {
  const type = body === "" ? "" : `content-type: ${contentType}\r\n`
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  const head =
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${type}content-length: ${body.length}\r\n` +
    `${lines}${connection}date: ${new Date().toUTCString()}\r\n\r\n`
  return method === "HEAD" ? head : head + body
}
