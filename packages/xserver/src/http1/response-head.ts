// SPDX-License-Identifier: Apache-2.0
// A response's status line and headers, read as strictly as a request's. The application is not an enemy, but a response
// it was tricked into must not end somewhere else for the client than for us.

import { CR, FIELD, SP } from "../http/characters.js"
import type { HttpFault } from "../http/fault.js"
import { FIELD_KIND } from "../http/field-kind.js"
import { type Framing, responseFraming } from "../http/framing.js"
import { type HeaderBlock, parseHeaderLines } from "./header-block.js"
import { hasOption } from "./request-head.js"

export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly minorVersion: number
  readonly headers: HeaderBlock
  readonly framing: Framing
  /** Whether the connection can carry another request when this response has ended. */
  readonly keepAlive: boolean
}

export function parseResponseHead(text: string, method: string, maxLines: number): ResponseHead | HttpFault {
  const lineEnd = text.indexOf("\r\n")
  const minorVersion = text.startsWith("HTTP/1.1 ") ? 1 : text.startsWith("HTTP/1.0 ") ? 0 : -1
  const status = statusAt(text, 9)
  if (minorVersion < 0 || status === undefined) return "bad-status-line"
  // RFC 9112 section 4 wants a space before an empty reason; many servers leave it out, and nothing hangs on it.
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
    keepAlive: framing.kind !== "close" && staysOpen(headers, minorVersion),
  }
}

/** Three digits, the first not zero: codes above 599 have no class, but applications do send them. */
function statusAt(text: string, at: number): number | undefined {
  const hundreds = text.charCodeAt(at) - 0x30
  const tens = text.charCodeAt(at + 1) - 0x30
  const ones = text.charCodeAt(at + 2) - 0x30
  const digits = hundreds >= 1 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9
  return digits ? hundreds * 100 + tens * 10 + ones : undefined
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
