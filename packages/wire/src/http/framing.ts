// SPDX-License-Identifier: Apache-2.0
// Determines where a message's body ends (RFC 9112 section 6.3) from its headers. Anything that two parsers could read
// differently is an error: both a length and a coding, repeated lengths, lengths that are not plain digits, codings
// other than `chunked`.

import { FIELD_KIND } from "../http2/field-kind.js"
import type { Fields } from "./fields.js"
import type { HttpError } from "./http-error.js"

export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "chunked" }
  /** Responses only: the body ends when the connection closes. */
  | { readonly kind: "close" }

export const NO_BODY: Framing = Object.freeze({ kind: "none" })
export const CHUNKED: Framing = Object.freeze({ kind: "chunked" })
export const UNTIL_CLOSE: Framing = Object.freeze({ kind: "close" })

export function hasContent(framing: Framing): boolean {
  return framing.kind === "chunked" || (framing.kind === "length" && framing.length > 0)
}

/** Fifteen digits are exact in a double, and enough for a petabyte. */
const LENGTH = /^[0-9]{1,15}$/

/** The framing that the headers declare; undefined if they declare none. */
function declared(headers: Fields, minorVersion: number, tabs: "rejected" | "taken"): Framing | undefined | HttpError {
  let length: string | undefined
  let encoding: string | undefined
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    if (kind === FIELD_KIND.contentLength) {
      if (length !== undefined) return "two-lengths"
      length = headers.value(index)
      if (!LENGTH.test(length) || (tabs === "rejected" && hasTab(headers, index))) return "bad-length"
    } else if (kind === FIELD_KIND.transferEncoding) {
      if (encoding !== undefined) return "bad-encoding"
      encoding = headers.value(index)
      if (tabs === "rejected" && hasTab(headers, index)) return "bad-encoding"
    }
  }
  if (encoding !== undefined) {
    if (length !== undefined) return "length-and-encoding"
    // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings, so a sender that uses one may be trying to confuse a
    // parser.
    if (minorVersion === 0 || encoding.toLowerCase() !== "chunked") return "bad-encoding"
    return CHUNKED
  }
  return length === undefined ? undefined : { kind: "length", length: Number(length) }
}

// White space around a value may be a tab (RFC 9110 section 5.6.3), but some parsers, such as Node's, do not find
// `chunked` before a tab. A proxy in front of us may behave the same, and no client writes these two headers with tabs.
// Some applications do, and there is no proxy between them and us.
function hasTab(headers: Fields, index: number): boolean {
  return headers.line(index).includes("\t")
}

export function requestFraming(headers: Fields, minorVersion: number): Framing | HttpError {
  return declared(headers, minorVersion, "rejected") ?? NO_BODY
}

/** `method` is the method of the request that the response is for. */
export function responseFraming(
  headers: Fields,
  minorVersion: number,
  status: number,
  method: string,
): Framing | HttpError {
  const framing = declared(headers, minorVersion, "taken")
  if (typeof framing === "string") return framing
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return NO_BODY
  return framing ?? UNTIL_CLOSE
}
