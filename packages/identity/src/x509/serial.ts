// SPDX-License-Identifier: Apache-2.0
// Serial numbers: 128 bits of which 126 are random, so that they are unpredictable and unique, with one text form.

export type RandomBytes = (size: number) => Buffer

const OCTETS = 16

/**
 * Positive, and of full length: the first octet is between 0x40 and 0x7f, so that no encoder has to add or remove a
 * leading zero and one serial has one text form.
 */
export function newSerial(random: RandomBytes): Buffer {
  const serial = random(OCTETS)
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

/** Upper-case hex without colons and leading zeros, because tools print serials in several forms. */
export function canonicalSerial(serial: string): string {
  return serial
    .replaceAll(":", "")
    .replace(/^0+(?=.)/, "")
    .toUpperCase()
}
