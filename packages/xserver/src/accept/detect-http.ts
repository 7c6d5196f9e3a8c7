// SPDX-License-Identifier: Apache-2.0
// Whether the first bytes in clear are HTTP. On an undeclared port this is generous on purpose: what some application
// might read as HTTP goes to our strict codec, because as plain TCP it would carry forged headers past the gate.

/** RFC 9113 section 3.4. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1")

const METHODS = new Set(
  "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH".split(
    " ",
  ),
)
const MAX_METHOD = 32
/** So much of a line is waited for where only its end tells. */
const MAX_LINE = 8 * 1024

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09

/** For a port that speaks HTTP: which version. */
export function isPreface(bytes: Buffer): "http1" | "http2" | "more" {
  const length = Math.min(bytes.length, PREFACE.length)
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return "http1"
  return length === PREFACE.length ? "http2" : "more"
}

/** For a port that says nothing. */
export function detectHttp(bytes: Buffer): "http1" | "http2" | "tcp" | "more" {
  const version = isPreface(bytes)
  if (version !== "http1") return version
  let start = 0
  // RFC 9112 section 2.2: servers skip empty lines before a request.
  while (start < bytes.length && (bytes[start] === CR || bytes[start] === LF)) start++
  let end = start
  while (end < bytes.length && isTokenCharacter(bytes[end] ?? 0)) end++
  if (end - start > MAX_METHOD) return "tcp"
  const next = bytes[end]
  if (next === undefined) return bytes.length > MAX_LINE ? "tcp" : "more"
  if (end === start || (next !== SPACE && next !== TAB)) return "tcp"
  if (METHODS.has(bytes.toString("latin1", start, end).toUpperCase())) return "http1"
  return endsAsRequestLine(bytes, start)
}

// Any token may be a method; SMTP and Redis write such lines too, but none that ends in a version of HTTP.
function endsAsRequestLine(bytes: Buffer, start: number): "http1" | "tcp" | "more" {
  const newline = bytes.indexOf(LF, start)
  if (newline < 0) return bytes.length - start > MAX_LINE ? "tcp" : "more"
  return /[ \t]HTTP\/[0-9.]*[ \t\r]*$/i.test(bytes.toString("latin1", Math.max(start, newline - 64), newline))
    ? "http1"
    : "tcp"
}

// RFC 9110 section 5.6.2.
function isTokenCharacter(byte: number): boolean {
  if ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x30 && byte <= 0x39)) return true
  return byte > 0x20 && byte < 0x7f && "!#$%&'*+-.^_`|~".includes(String.fromCharCode(byte))
}
