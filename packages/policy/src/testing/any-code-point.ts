// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"

const SURROGATES = { first: 0xd800, count: 0x800 }
const LAST = 0x10ffff

/**
 * Any character at all, as fast-check's unit `binary`; that one makes a table of all million of them before the first text,
 * which took longer than most properties.
 */
export const anyCodePoint: fc.Arbitrary<string> = fc.nat(LAST - SURROGATES.count).map(
  at => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count),
  text => {
    const point = typeof text === "string" ? text.codePointAt(0) : undefined
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error("no single character")
    return point < SURROGATES.first ? point : point - SURROGATES.count
  },
)
