// SPDX-License-Identifier: Apache-2.0
// Parses a response's fields as strictly as a request's, and writes them for the client. gRPC callers get local replies
// as gRPC errors: HTTP 200 and the status in trailers only (gRPC over HTTP/2, "Trailers-Only").

import type { Fields } from "../http/fields.js"
import { CHUNKED, NO_BODY, responseFraming } from "../http/framing.js"
import type { RequestHead, ResponseHead } from "../http/head.js"
import type { HttpError } from "../http/http-error.js"
import type { LocalReply } from "../http/local-reply.js"
import { keepsResponseField } from "../http/response-fields.js"
import type { Field } from "./field.js"
import { FIELD_KIND } from "./field-kind.js"
import { FieldList } from "./field-list.js"
import type { HpackEncoder } from "./hpack/encoder.js"
import { isOfConnection } from "./request-head.js"

const STATUS = /^[1-9][0-9]{2}$/

/** `method` is the method of the request that the response is for. `ended`: no content follows. */
export function readResponseHead(list: readonly Field[], method: string, ended: boolean): ResponseHead | HttpError {
  const [first] = list
  // RFC 9113 section 8.3.2: the only pseudo-header of a response.
  if (first?.name !== ":status" || !STATUS.test(first.value)) return "bad-pseudo-header"
  const status = Number(first.value)
  const fields = list.slice(1)
  for (const field of fields) {
    if (field.pseudo) return "bad-pseudo-header"
    if (field.error !== undefined) return field.error
    if (isOfConnection(field)) return "bad-header-name"
  }
  const headers = new FieldList(fields)
  const declared = responseFraming(headers, 1, status, method)
  if (typeof declared === "string") return declared
  const empty = method === "HEAD" || status < 200 || status === 204 || status === 304
  // RFC 9113 section 8.1.1: the declared length must match the content.
  if (ended && declared.kind === "length" && declared.length > 0) return "bad-length"
  const framing = ended || empty ? NO_BODY : declared.kind === "length" ? declared : CHUNKED
  return { status, reason: "", headers, framing, trailers: !ended }
}

/**
 * Heads of the responses of one connection. If all fields of a head are in the HPACK table and the same as those of the
 * previous head, the previous object is returned, with what is known about it.
 */
export class ResponseHeads {
  #list: readonly Field[] = []
  #toHead = false
  #ended = false
  #head: ResponseHead | undefined

  read(list: readonly Field[], method: string, ended: boolean): ResponseHead | HttpError {
    const toHead = method === "HEAD"
    if (this.#head !== undefined && toHead === this.#toHead && ended === this.#ended && this.#isLast(list)) {
      return this.#head
    }
    const head = readResponseHead(list, method, ended)
    if (typeof head === "string" || head.status < 200) return head
    this.#list = list
    this.#toHead = toHead
    this.#ended = ended
    this.#head = { ...head, written: { toHead, version: "h2", framing: "none", connection: "", text: "" } }
    return this.#head
  }

  #isLast(list: readonly Field[]): boolean {
    if (list.length !== this.#list.length) return false
    for (let index = 0; index < list.length; index++) if (list[index] !== this.#list[index]) return false
    return true
  }
}

/** Adds the response to the current block, with the status that HTTP/2 uses for it. */
export function writeResponseHead(encoder: HpackEncoder, { status, headers }: ResponseHead): void {
  // RFC 8441 section 5: an upgrade is a stream that stays open.
  encoder.field(":status", status === 101 ? "200" : String(status))
  for (let index = 0; index < headers.size; index++) {
    if (!keepsResponseField(headers, index, status)) continue
    const name = headers.name(index)
    if (status === 101 && name === "sec-websocket-accept") continue
    encoder.field(name, headers.value(index), headers.sensitive(index))
  }
}

/** Adds a local reply. Returns whether its content follows. */
export function writeLocalReply(
  encoder: HpackEncoder,
  { status, body, contentType = "text/plain", fields }: LocalReply,
  method: string,
  grpc: boolean,
): boolean {
  encoder.field(":status", grpc ? "200" : String(status))
  if (grpc) {
    encoder.field("content-type", "application/grpc")
    encoder.field("grpc-status", String(grpcCode(status)))
    encoder.field("grpc-message", percentEncoded(body))
  } else {
    if (body !== "") encoder.field("content-type", contentType)
    encoder.field("content-length", String(body.length))
  }
  for (const [name, value] of fields) encoder.field(name, value)
  return !grpc && body !== "" && method !== "HEAD"
}

/** Whether the request is gRPC, which has its own form of error responses. */
export function isGrpc({ headers }: RequestHead): boolean {
  return headers.get("content-type")?.[0]?.toLowerCase().startsWith("application/grpc") ?? false
}

/** Whether a field may be forwarded as a trailer: not hop-by-hop fields, nor fields that are only valid in headers. */
export function keepsTrailerKind(headers: Fields, index: number): boolean {
  const kind = headers.kind(index)
  return kind === FIELD_KIND.plain || kind === FIELD_KIND.cookie || kind === FIELD_KIND.requestId
}

// "HTTP to gRPC Status Code Mapping" of the gRPC project. Denied requests have their own codes: UNAUTHENTICATED,
// PERMISSION_DENIED.
function grpcCode(status: number): number {
  switch (status) {
    case 401:
      return 16
    case 403:
      return 7
    case 400:
    case 431:
      return 13
    case 404:
      return 12
    case 408:
    case 429:
    case 502:
    case 503:
    case 504:
      return 14
    default:
      return 2
  }
}

// gRPC over HTTP/2, "Status-Message": percent-encoded UTF-8, with visible ASCII and spaces unchanged.
function percentEncoded(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, part =>
    Buffer.from(part)
      .toString("hex")
      .toUpperCase()
      .replace(/../g, byte => `%${byte}`),
  )
}
