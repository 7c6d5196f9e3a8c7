// SPDX-License-Identifier: Apache-2.0
// Detects whether the first plaintext bytes are HTTP. On an undeclared port this is deliberately generous: bytes that
// some application might parse as HTTP go to our strict codec, because as plain TCP they could carry forged headers
// past the proxy.

import { METHODS } from "node:http"

/** The HTTP/2 connection preface (RFC 9113 section 3.4). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1")

/** Compared case-insensitively. */
const COMMON_METHODS: ReadonlySet<string> = new Set(
  "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH".split(
    " ",
  ),
)
/** Compared case-sensitively: a parser that knows more than the common methods takes them from this list. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set([...COMMON_METHODS, ...METHODS])
const MAX_METHOD = 32
/** How much of a line to wait for if only its end decides. */
const MAX_LINE = 8 * 1024

const LF = 0x0a
const CR = 0x0d

/** The HTTP version on a port that is declared as HTTP. */
export function isPreface(bytes: Buffer): "http1" | "http2" | "more" {
  const length = Math.min(bytes.length, PREFACE.length)
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return "http1"
  return length === PREFACE.length ? "http2" : "more"
}

/** For an undeclared port. `ended`: no more bytes will come, which some parsers treat as the end of a line. */
export function detectHttp(bytes: Buffer, ended = false): "http1" | "http2" | "tcp" | "more" {
  const version = isPreface(bytes)
  if (version === "http2") return version
  if (version === "more" && !ended) return version
  let start = 0
  // RFC 9112 section 2.2: servers skip empty lines before a request, and lenient ones any white space.
  while (start < bytes.length && isLineEndOrSpace(bytes[start] ?? 0)) start++
  let end = start
  while (end < bytes.length && isTokenCharacter(bytes[end] ?? 0)) end++
  if (end - start > MAX_METHOD) return "tcp"
  const next = bytes[end]
  if (next === undefined) return ended || bytes.length > MAX_LINE ? "tcp" : "more"
  if (end === start || next === LF || !isLineEndOrSpace(next)) return "tcp"
  if (next === CR) {
    // Most parsers take CR as the end of a line, some as white space.
    const after = bytes[end + 1]
    if (after === undefined) return ended ? "tcp" : "more"
    if (after === LF) return "tcp"
  }
  const word = bytes.toString("latin1", start, end)
  if (KNOWN_METHODS.has(word) || COMMON_METHODS.has(word.toUpperCase())) return "http1"
  return endsAsRequestLine(bytes, start, ended)
}

// Any token may be a method. SMTP and Redis lines begin with a token too, but none of them ends in an HTTP version.
function endsAsRequestLine(bytes: Buffer, start: number, ended: boolean): "http1" | "tcp" | "more" {
  const newline = bytes.indexOf(LF, start)
  if (newline < 0 && !ended) return bytes.length - start > MAX_LINE ? "tcp" : "more"
  return hasVersionBefore(bytes, newline < 0 ? bytes.length : newline) ? "http1" : "tcp"
}

/** Whether the line that ends at `lineEnd` ends in something like ` HTTP/1.1`. */
function hasVersionBefore(bytes: Buffer, lineEnd: number): boolean {
  let at = lineEnd
  while (at > 0 && isLineEndOrSpace(bytes[at - 1] ?? 0)) at--
  while (at > 0 && isVersionNumber(bytes[at - 1] ?? 0)) at--
  const name = bytes.toString("latin1", Math.max(0, at - NAME.length), at).toUpperCase()
  return name === NAME && isLineEndOrSpace(bytes[at - NAME.length - 1] ?? 0)
}

const NAME = "HTTP/"

function isVersionNumber(byte: number): boolean {
  return byte === 0x2e || (byte >= 0x30 && byte <= 0x39)
}

/** Characters that some parsers treat as white space inside a line. Python, for example, splits at all of these. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0b || byte === 0x0c || isRareSpace(byte)
}

function isRareSpace(byte: number): boolean {
  return (byte >= 0x1c && byte <= 0x1f) || byte === 0x85 || byte === 0xa0
}

function isLineEndOrSpace(byte: number): boolean {
  return byte === CR || byte === LF || isSpace(byte)
}

// RFC 9110 section 5.6.2.
function isTokenCharacter(byte: number): boolean {
  if ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x30 && byte <= 0x39)) return true
  return byte > 0x20 && byte < 0x7f && "!#$%&'*+-.^_`|~".includes(String.fromCharCode(byte))
}
