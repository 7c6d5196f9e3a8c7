// SPDX-License-Identifier: Apache-2.0
// The header names that a policy may use.

/** RFC 9110 section 5.1: a field name is a token. */
export const FIELD_NAME = "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"

/** The same, or a pseudo-header field of RFC 9113 section 8.3.1. */
const MATCHABLE = /^(:(authority|method|path|scheme)|[-!#$%&'*+.^_`|~0-9A-Za-z]+)$/

export function isMatchableHeader(name: string): boolean {
  return MATCHABLE.test(name)
}

/**
 * RFC 9110 sections 7.2 and 7.6.1, RFC 9112 section 6: these headers determine where a message goes and where it ends.
 * If a rule wrote a claim to one or removed one, the request could be parsed as a different one.
 */
const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** The proxy describes the connection in these headers and replaces the values that a caller sends. */
export const OWN_HEADERS = ["x-forwarded-client-cert", "x-forwarded-proto"] as const

const OWN_NAMES: ReadonlySet<string> = new Set(OWN_HEADERS)

export function isOwnHeader(lowerCaseName: string): boolean {
  return OWN_NAMES.has(lowerCaseName)
}

/** Whether a claim may be written to the header: not if it frames the message, and not if the proxy sets it. */
export function isWritableHeader(lowerCaseName: string): boolean {
  return !FRAMING_HEADERS.has(lowerCaseName) && !isOwnHeader(lowerCaseName)
}
