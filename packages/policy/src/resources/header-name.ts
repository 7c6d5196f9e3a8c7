// SPDX-License-Identifier: Apache-2.0
// What may stand as a header name in a policy.

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
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
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
