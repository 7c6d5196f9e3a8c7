// SPDX-License-Identifier: Apache-2.0
// Parses a request line and headers strictly (RFC 9112). Returns an unambiguous value that is safe to forward, or the
// error for which the request is rejected; never throws. Also writes request heads for a server.

import { randomBytes } from "node:crypto"
import { CR, LF } from "../http/characters.js"
import { hasOption } from "../http/fields.js"
import { requestFraming } from "../http/framing.js"
import type { RequestHead } from "../http/head.js"
import type { HttpError } from "../http/http-error.js"
import { methodError } from "../http/method.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import { isHost, parseTarget } from "../http/target.js"
import { FIELD_KIND } from "../http2/field-kind.js"
import { type HeaderBlock, parseHeaderLines } from "./header-block.js"

/** `printable` is the scanner's. `tunnels`: whether CONNECT is accepted. */
export function parseRequestHead(
  text: string,
  maxLines: number,
  printable = false,
  tunnels = false,
): RequestHead | HttpError {
  const methodEnd = text.indexOf(" ")
  const lineEnd = text.indexOf("\r\n")
  const targetEnd = text.indexOf(" ", methodEnd + 1)
  if (methodEnd <= 0 || targetEnd < 0 || targetEnd > lineEnd || targetEnd === methodEnd + 1) return "bad-request-line"
  const minorVersion = parseVersion(text, targetEnd + 1)
  if (minorVersion === undefined) return "bad-request-line"
  if (minorVersion < 0) return "bad-version"
  const method = text.slice(0, methodEnd)
  const rejected = methodError(method)
  if (rejected !== undefined && !(tunnels && rejected === "connect-rejected")) return rejected
  const target = parseTarget(method, text.slice(methodEnd + 1, targetEnd))
  if (target === undefined) return "bad-target"
  const headers = parseHeaderLines(text, lineEnd + 2, maxLines, printable)
  if (typeof headers === "string") return headers
  const framing = requestFraming(headers, minorVersion)
  if (typeof framing === "string") return framing
  const seen = inspectHeaders(headers, minorVersion)
  if (typeof seen === "string") return seen
  return {
    version: minorVersion === 1 ? "http/1.1" : "http/1.0",
    method,
    target: target.target,
    host: target.host ?? seen.host,
    scheme: target.scheme,
    headers,
    framing,
    keepAlive: minorVersion === 1 ? !seen.close : seen.keepAlive && !seen.close,
    upgrade: seen.upgradeNamed && minorVersion === 1 ? seen.upgrade : undefined,
    // RFC 9110 section 10.1.1: an expectation from an HTTP/1.0 client is ignored.
    expectsContinue: seen.expectsContinue && minorVersion === 1,
  }
}

/** The minor version of HTTP/1; -1 for another version, undefined if it is not an HTTP version. */
function parseVersion(text: string, at: number): number | undefined {
  const ends = text.charCodeAt(at + 8) === CR && text.charCodeAt(at + 9) === LF
  if (!ends || !text.startsWith("HTTP/", at)) return undefined
  if (text.startsWith("1.1", at + 5)) return 1
  if (text.startsWith("1.0", at + 5)) return 0
  return /^[0-9]\.[0-9]$/.test(text.slice(at + 5, at + 8)) ? -1 : undefined
}

interface Seen {
  host: string | undefined
  close: boolean
  keepAlive: boolean
  upgradeNamed: boolean
  upgrade: string | undefined
  expectsContinue: boolean
}

function inspectHeaders(headers: HeaderBlock, minorVersion: number): Seen | HttpError {
  const seen: Seen = {
    host: undefined,
    close: false,
    keepAlive: false,
    upgradeNamed: false,
    upgrade: undefined,
    expectsContinue: false,
  }
  let hosts = 0
  for (let index = 0; index < headers.size; index++) {
    const kind = headers.kind(index)
    if (kind === FIELD_KIND.plain) continue
    if (kind === FIELD_KIND.host) {
      const host = headers.value(index)
      if (++hosts > 1) return "two-hosts"
      if (!isHost(host)) return "bad-host"
      seen.host = host
    } else if (kind === FIELD_KIND.connection) {
      const options = headers.value(index).toLowerCase()
      if (hasOption(options, "close")) seen.close = true
      if (hasOption(options, "keep-alive")) seen.keepAlive = true
      if (hasOption(options, "upgrade")) seen.upgradeNamed = true
    } else if (kind === FIELD_KIND.upgrade) {
      seen.upgrade = seen.upgrade === undefined ? headers.value(index) : `${seen.upgrade}, ${headers.value(index)}`
    } else if (kind === FIELD_KIND.expect) {
      seen.expectsContinue = headers.value(index).toLowerCase() === "100-continue"
    }
  }
  // RFC 9112 section 3.2: 400 for an HTTP/1.1 request without Host, even if the target has a host.
  return hosts === 0 && minorVersion === 1 ? "no-host" : seen
}

/** The head as text, including the empty line that ends it. */
export function requestHeadText(request: OutgoingRequest): string {
  const { framing, upgrade } = request
  let text = `${request.method} ${request.target} HTTP/1.1\r\nhost: ${request.host ?? ""}\r\n`
  text += request.headers.lines(request.keeps)
  request.added((name, value) => {
    text += `${name}: ${value}\r\n`
  })
  if (framing.kind === "length") text += `content-length: ${framing.length}\r\n`
  else if (framing.kind === "chunked") text += "transfer-encoding: chunked\r\n"
  if (upgrade !== undefined) text += `connection: upgrade\r\nupgrade: ${upgrade}\r\n${webSocketKey(request)}`
  else if (request.takesTrailers) text += "te: trailers\r\nconnection: te\r\n"
  return `${text}\r\n`
}

/**
 * RFC 8441 section 5: over HTTP/2 a client sends no key, because nothing there could mistake the handshake for
 * something else. An HTTP/1.1 server expects one; its answer to the key is not forwarded.
 */
function webSocketKey({ upgrade, headers }: OutgoingRequest): string {
  if (upgrade?.toLowerCase() !== "websocket" || headers.get("sec-websocket-key") !== undefined) return ""
  return `sec-websocket-key: ${randomBytes(16).toString("base64")}\r\n`
}
