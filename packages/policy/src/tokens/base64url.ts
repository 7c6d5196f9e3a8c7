// SPDX-License-Identifier: Apache-2.0
// Strict base64url (RFC 4648 section 5, RFC 7515 section 2): exactly one text per byte string. Node's own decoder skips
// unknown characters and drops surplus bits, so that two different texts could carry one signature.

const ALPHABET = /^[A-Za-z0-9_-]*$/
// RFC 4648 section 3.5: the unused bits of the last character must be zero.
const LAST_OF_TWO = /[AQgw]$/
const LAST_OF_THREE = /[AEIMQUYcgkosw048]$/

/** Whether the text is the canonical, unpadded encoding of some bytes. */
export function isBase64url(text: string): boolean {
  if (!ALPHABET.test(text)) return false
  const surplus = text.length % 4
  if (surplus === 1) return false
  if (surplus === 2) return LAST_OF_TWO.test(text)
  return surplus === 0 || LAST_OF_THREE.test(text)
}

/** The bytes, or undefined if the text is not a canonical, unpadded encoding. */
export function decodeBase64url(text: string): Buffer | undefined {
  return isBase64url(text) ? Buffer.from(text, "base64url") : undefined
}

/** The same, but the text may have exact padding to a multiple of four. */
export function decodePaddedBase64url(text: string): Buffer | undefined {
  if (!text.endsWith("=")) return decodeBase64url(text)
  const bare = text.endsWith("==") ? text.slice(0, -2) : text.slice(0, -1)
  return text.length % 4 === 0 ? decodeBase64url(bare) : undefined
}
