// SPDX-License-Identifier: Apache-2.0
// The status of a call, as in gRPC over HTTP/2.

import type { CallErrorCode } from "../errors.js"

/** https://grpc.io/docs/guides/status-codes: the codes that a control plane sends. */
export const STATUS = {
  OK: 0,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const satisfies Record<CallErrorCode | "OK" | "UNIMPLEMENTED", number>

export type Status = keyof typeof STATUS

const PLAIN = /^[\x20-\x24\x26-\x7e]*$/

/** The value of `grpc-message`, percent-encoded if necessary (gRPC over HTTP/2, "Responses"). */
export function messageText(message: string): string {
  if (PLAIN.test(message)) return message
  let text = ""
  for (const byte of Buffer.from(message)) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    text += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }
  return text
}

/** Names by code, including codes that our control plane never sends, because other servers may. */
const NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
]

/** The name for a value of `grpc-status`. */
export function statusName(code: string): string {
  return (/^\d{1,2}$/.test(code) ? NAMES[Number(code)] : undefined) ?? "UNKNOWN"
}

/** The inverse of `messageText`. Badly encoded text is returned unchanged. */
export function readMessage(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
