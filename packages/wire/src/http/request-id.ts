// SPDX-License-Identifier: Apache-2.0
// Request ids, which correlate the logs of several programs. A request without one gets a random UUID (RFC 9562 section
// 5.4) as one flat string. Node's UUIDs are concatenated from twenty pieces, which took a tenth of a request's
// allocations.

import { randomFillSync } from "node:crypto"
import { FIELD_KIND } from "../http2/field-kind.js"
import type { Fields } from "./fields.js"

export const REQUEST_ID_HEADER = "x-request-id"

const BYTES = 16
/** UUIDs per batch: a few random bytes cost nearly as much as many. */
const AT_ONCE = 256
const DIGITS = Buffer.from("0123456789abcdef", "latin1")
const DASH = 0x2d

const random = Buffer.allocUnsafeSlow(BYTES * AT_ONCE)
const text = Buffer.alloc(36, DASH)
let used = random.length

/** The client's id if it is safe to write into a log line, otherwise a new one. */
export function requestId(headers: Fields): string {
  const lines = headers.has(FIELD_KIND.requestId) ? headers.get(REQUEST_ID_HEADER) : undefined
  const given = lines?.length === 1 ? lines[0] : undefined
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : newRequestId()
}

export function newRequestId(): string {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  const from = used
  used += BYTES
  // The version and variant bits are in the middle.
  random[from + 6] = ((random[from + 6] ?? 0) & 0x0f) | 0x40
  random[from + 8] = ((random[from + 8] ?? 0) & 0x3f) | 0x80
  let at = 0
  for (let index = 0; index < BYTES; index++) {
    const byte = random[from + index] ?? 0
    if (index === 4 || index === 6 || index === 8 || index === 10) at++
    text[at++] = DIGITS[byte >> 4] ?? 0
    text[at++] = DIGITS[byte & 0x0f] ?? 0
  }
  return text.toString("latin1")
}
