// SPDX-License-Identifier: Apache-2.0
// Writes DER (X.690): the few types that certificates and signing requests need. Without a library, because a control
// plane signs for all workloads at once after a rotation, and a general ASN.1 library is 50 times slower.

import { TAG } from "./tags.js"

export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = contents.length === 1 ? contents[0] : Buffer.concat(contents)
  const length = content?.length ?? 0
  const head = lengthOctets(length)
  const whole = Buffer.allocUnsafe(1 + head.length + length)
  whole[0] = tag
  whole.set(head, 1)
  if (content !== undefined) whole.set(content, 1 + head.length)
  return whole
}

/** X.690 section 10.1: the shortest form. */
function lengthOctets(length: number): readonly number[] {
  if (length < 0x80) return [length]
  const octets: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256)
  return [0x80 | octets.length, ...octets]
}

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, ...contents)
}

/** From big-endian octets of an unsigned number. */
export function unsignedInteger(octets: Uint8Array): Buffer {
  let start = 0
  while (start < octets.length - 1 && octets[start] === 0) start++
  const digits = octets.subarray(start)
  const first = digits[0]
  if (first === undefined) return element(TAG.integer, Buffer.from([0]))
  // A set top bit would make it negative.
  return first >= 0x80 ? element(TAG.integer, Buffer.from([0]), digits) : element(TAG.integer, digits)
}

export function boolean(value: boolean): Buffer {
  return element(TAG.boolean, Buffer.from([value ? 0xff : 0]))
}

/** X.690 section 8.19, from the dotted form. */
export function objectIdentifier(dotted: string): Buffer {
  // An arc that is a UUID exceeds the precision of a number.
  const [first = 0n, second = 0n, ...rest] = dotted.split(".").map(BigInt)
  const octets: number[] = []
  for (const arc of [first * 40n + second, ...rest]) {
    const base128 = [Number(arc % 128n)]
    for (let high = arc / 128n; high > 0n; high /= 128n) base128.unshift(Number(high % 128n) | 0x80)
    octets.push(...base128)
  }
  return element(TAG.objectIdentifier, Buffer.from(octets))
}

export function bitString(bits: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.from([unusedBits]), bits)
}

export function octetString(octets: Uint8Array): Buffer {
  return element(TAG.octetString, octets)
}

export function utf8String(text: string): Buffer {
  return element(TAG.utf8String, Buffer.from(text, "utf8"))
}

export function null_(): Buffer {
  return element(TAG.null)
}

/** From milliseconds, truncated to seconds. RFC 5280 section 4.1.2.5: years up to 2049 have two digits. */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, "")
  return digits < "2050" && digits >= "1950"
    ? element(TAG.utcTime, Buffer.from(digits.slice(2), "latin1"))
    : element(TAG.generalizedTime, Buffer.from(digits, "latin1"))
}
