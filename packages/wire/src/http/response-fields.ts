// SPDX-License-Identifier: Apache-2.0
// Decides which headers of a response reach the client. Hop-by-hop headers are set by the proxy; all others are the
// server's.

import { FIELD_KIND } from "../http2/field-kind.js"
import type { Fields } from "./fields.js"

export function keepsResponseField(headers: Fields, index: number, status: number): boolean {
  switch (headers.kind(index)) {
    case FIELD_KIND.connection:
    case FIELD_KIND.hop:
    case FIELD_KIND.te:
    case FIELD_KIND.transferEncoding:
    case FIELD_KIND.upgrade:
      return false
    case FIELD_KIND.contentLength:
      // RFC 9110 section 8.6: 1xx and 204 responses have no Content-Length.
      return status >= 200 && status !== 204
    default:
      return true
  }
}

/** Drops trailers that are only valid as headers. */
export function keepsResponseTrailer(name: string): boolean {
  return name !== "set-cookie" && name !== "trailer"
}
