// SPDX-License-Identifier: Apache-2.0
// Which header names a policy may use.

/** RFC 9110 section 5.1: a field name is a token. */
export const FIELD_NAME = "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"

/** The above, or a pseudo header of RFC 9113 section 8.3.1. */
const MATCHABLE = /^(:(authority|method|path|scheme)|[-!#$%&'*+.^_`|~0-9A-Za-z]+)$/

export function isMatchableHeader(name: string): boolean {
  return MATCHABLE.test(name)
}

/**
 * RFC 9110 sections 7.2 and 7.6.1, RFC 9112 section 6: these decide where a message goes and where it ends. Written from
 * a claim or scrubbed, they would let a request be read as another.
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

/** In these the proxy describes the connection; what a caller sends under these names is replaced. */
export const OWN_HEADERS = ["x-forwarded-client-cert", "x-forwarded-proto"] as const

const OWN_NAMES: ReadonlySet<string> = new Set(OWN_HEADERS)

export function isOwnHeader(lowerCaseName: string): boolean {
  return OWN_NAMES.has(lowerCaseName)
}

/** Whether a claim may be written to it: beside framing, none says who the caller is in the proxy's place. */
export function isWritableHeader(lowerCaseName: string): boolean {
  return !FRAMING_HEADERS.has(lowerCaseName) && !isOwnHeader(lowerCaseName)
}
