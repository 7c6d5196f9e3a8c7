// SPDX-License-Identifier: Apache-2.0
// Parses untrusted DER, one level at a time and without recursion, so that the input cannot decide the depth. Returns
// undefined for invalid encodings, never a partial value, and never throws.

import { TAG } from "./tags.js"

export interface DerElement {
  readonly tag: number
  readonly value: Buffer
  /** Including tag and length: the bytes that signatures cover. */
  readonly raw: Buffer
}

/** More than any structure that is parsed here has on one level. A list of millions costs nothing to send. */
const MAX_ELEMENTS = 256
const MAX_LENGTH_OCTETS = 3

/** All elements of the content. */
export function readElements(content: Uint8Array): readonly DerElement[] | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const found: DerElement[] = []
  let at = 0
  while (at < bytes.length) {
    if (found.length === MAX_ELEMENTS) return undefined
    const next = readElement(bytes, at)
    if (next === undefined) return undefined
    found.push(next)
    at += next.raw.length
  }
  return found
}

/** The only element of the content, if it has this tag. */
export function readOnly(content: Uint8Array, tag: number): DerElement | undefined {
  const elements = readElements(content)
  const [first] = elements ?? []
  return elements?.length === 1 && first?.tag === tag ? first : undefined
}

/** The elements inside an element. */
export function readWithin(element: DerElement | undefined, tag: number): readonly DerElement[] | undefined {
  return element?.tag === tag ? readElements(element.value) : undefined
}

/** Octets of a bit string without unused bits, such as keys and signatures. */
export function wholeBits(element: DerElement | undefined): Buffer | undefined {
  return element?.tag === TAG.bitString && element.value[0] === 0 ? element.value.subarray(1) : undefined
}

function readElement(bytes: Buffer, start: number): DerElement | undefined {
  const tag = bytes[start]
  const first = bytes[start + 1]
  // Tag numbers above 30 take several octets; none of our structures uses them.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined
  let at = start + 2
  let length = first
  if (first >= 0x80) {
    const octets = first & 0x7f
    // Zero octets are the indefinite form, which DER forbids.
    if (octets === 0 || octets > MAX_LENGTH_OCTETS || at + octets > bytes.length) return undefined
    length = bytes.readUIntBE(at, octets)
    at += octets
    // X.690 section 10.1: only the shortest form, because two parsers might otherwise find different ends.
    if (length < 0x80 || length < 2 ** (8 * (octets - 1))) return undefined
  }
  const end = at + length
  if (end > bytes.length) return undefined
  return { tag, value: bytes.subarray(at, end), raw: bytes.subarray(start, end) }
}
