// SPDX-License-Identifier: Apache-2.0
// Ids of traces and spans, and the sampling decision for traces that begin here.

import { randomFillSync } from "node:crypto"

const POOL = Buffer.alloc(16 * 256)
let used = POOL.length

export function newTraceId(): string {
  return randomHex(16)
}

export function newSpanId(): string {
  return randomHex(8)
}

/** Depends only on the id, so that all services with the same ratio record the same traces. */
export function isSampled(traceId: string, ratio: number): boolean {
  // A number holds exactly the last 52 bits, all of which are random.
  return Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52
}

function randomHex(bytes: number): string {
  for (;;) {
    if (used + bytes > POOL.length) {
      randomFillSync(POOL)
      used = 0
    }
    used += bytes
    const hex = POOL.toString("hex", used - bytes, used)
    // An id of zeros is invalid.
    if (!/^0+$/.test(hex)) return hex
  }
}
