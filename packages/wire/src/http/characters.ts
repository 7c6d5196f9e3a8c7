// SPDX-License-Identifier: Apache-2.0
// Character classes of RFC 9110 section 5 and RFC 9112 as lookup tables: one lookup per byte, and one place that
// defines which bytes a name, a value or a target may contain.

export const HT = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const SP = 0x20
export const COLON = 0x3a
export const DEL = 0x7f

/** `token` (RFC 9110 section 5.6.2): methods, field names, and names and unquoted values of chunk extensions. */
export const TOKEN = table(byte => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte)))

/** Bytes allowed in a field value (RFC 9110 section 5.5): no control characters except tab. */
export const FIELD = table(byte => byte === HT || (byte >= SP && byte !== DEL))

/**
 * Bytes allowed in a request target: visible ASCII. A URI must not contain bytes above it, and parsers treat them
 * differently.
 */
export const VISIBLE = table(byte => byte > SP && byte < DEL)

const NOT_HEX = 0xff

/** The value of a hexadecimal digit; `NOT_HEX` for any other byte. */
export const HEX = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = String.fromCharCode(byte)
  return /[0-9a-fA-F]/.test(digit) ? Number.parseInt(digit, 16) : NOT_HEX
})

function table(has: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (has(byte) ? 1 : 0))
}
