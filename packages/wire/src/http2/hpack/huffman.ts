// SPDX-License-Identifier: Apache-2.0
// The Huffman code of RFC 7541 Appendix B. It is canonical, so both tables are derived from the code lengths. Decoding
// consumes half a byte at a time: no code is shorter than five bits, so a step yields at most one symbol.

import type { BorrowedBytes } from "../../sockets/borrowed-reads.js"

/** Code lengths of the 256 octets, then of EOS. */
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
]
const EOS = 256
const LONGEST = 30
/** RFC 7541 section 5.2: padding is shorter than this many bits, all of them set. */
const PADDING = 8

const CODES = canonicalCodes()

function canonicalCodes(): Uint32Array {
  const codes = new Uint32Array(LENGTHS.length)
  let next = 0
  for (let length = 1; length <= LONGEST; length++) {
    next *= 2
    LENGTHS.forEach((own, symbol) => {
      if (own === length) codes[symbol] = next++
    })
  }
  return codes
}

/** A step in the bits of one number: the next state, the symbol it emits, and whether it emits one. */
const EMITS = 1 << 16
const FAILS = 1 << 17
const SYMBOL_SHIFT = 8
const STATE_MASK = 0xff

/** `STEPS[state * 16 + nibble]`, and whether text may end in a state. */
const { steps: STEPS, ends: ENDS } = machine()

interface Node {
  readonly state: number
  readonly children: [Node | undefined, Node | undefined]
  symbol: number
  /** Number of bits on the path to this node if all of them are set. */
  readonly ones: number | undefined
}

function machine(): { readonly steps: Uint32Array; readonly ends: Uint8Array } {
  const inner: Node[] = []
  const make = (ones: number | undefined, leaf: boolean): Node => {
    const node: Node = { state: leaf ? 0 : inner.length, children: [undefined, undefined], symbol: -1, ones }
    if (!leaf) inner.push(node)
    return node
  }
  const root = make(0, false)
  LENGTHS.forEach((length, symbol) => {
    let node = root
    for (let bit = length - 1; bit >= 0; bit--) {
      const side = ((CODES[symbol] ?? 0) >>> bit) & 1 ? 1 : 0
      const ones = side === 1 && node.ones !== undefined ? node.ones + 1 : undefined
      const child = node.children[side] ?? make(ones, bit === 0)
      node.children[side] = child
      node = child
    }
    node.symbol = symbol
  })
  const steps = new Uint32Array(inner.length * 16)
  for (const from of inner) {
    for (let nibble = 0; nibble < 16; nibble++) steps[from.state * 16 + nibble] = stepOf(root, from, nibble)
  }
  return { steps, ends: Uint8Array.from(inner, ({ ones }) => (ones !== undefined && ones < PADDING ? 1 : 0)) }
}

function stepOf(root: Node, from: Node, nibble: number): number {
  let node = from
  let step = 0
  for (let bit = 3; bit >= 0; bit--) {
    const next = node.children[((nibble >> bit) & 1) as 0 | 1]
    // INVARIANT: the code is complete, so every path continues.
    if (next === undefined || next.symbol === EOS) return FAILS
    node = next
    if (next.symbol < 0) continue
    step = EMITS | (next.symbol << SYMBOL_SHIFT)
    node = root
  }
  return step | node.state
}

let scratch = Buffer.allocUnsafeSlow(16 * 1024)

function room(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes * 2)
  return scratch
}

/** Decodes to latin1 text; undefined if the bytes are not valid Huffman text (RFC 7541 section 5.2). */
export function decodeHuffman(bytes: BorrowedBytes, from: number, to: number): string | undefined {
  // The shortest code has five bits.
  const out = room(Math.ceil(((to - from) * 8) / 5))
  let length = 0
  let state = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    const high = STEPS[state * 16 + (byte >> 4)] ?? FAILS
    if (high & EMITS) out[length++] = (high >> SYMBOL_SHIFT) & 0xff
    const low = STEPS[(high & STATE_MASK) * 16 + (byte & 15)] ?? FAILS
    if (low & EMITS) out[length++] = (low >> SYMBOL_SHIFT) & 0xff
    if ((high | low) & FAILS) return undefined
    state = low & STATE_MASK
  }
  return ENDS[state] === 1 ? out.toString("latin1", 0, length) : undefined
}

export function huffmanLength(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at++) bits += LENGTHS[text.charCodeAt(at)] ?? 0
  return Math.ceil(bits / 8)
}

/** Encodes latin1 text. The result is latin1 text too, one character per byte. */
export function encodeHuffman(text: string): string {
  const out = room(text.length * 4 + 1)
  let length = 0
  // At most 7 bits are waiting, so 37 is the maximum, which is more than 32-bit operations hold.
  let waiting = 0
  let bits = 0
  for (let at = 0; at < text.length; at++) {
    const symbol = text.charCodeAt(at)
    const size = LENGTHS[symbol] ?? 0
    waiting = waiting * 2 ** size + (CODES[symbol] ?? 0)
    bits += size
    while (bits >= 8) {
      const rest = 2 ** (bits - 8)
      out[length++] = Math.floor(waiting / rest)
      waiting %= rest
      bits -= 8
    }
  }
  if (bits > 0) out[length++] = (waiting << (8 - bits)) | (0xff >> bits)
  return out.toString("latin1", 0, length)
}
