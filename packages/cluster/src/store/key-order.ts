// SPDX-License-Identifier: Apache-2.0
// The order of keys: by code point, which is also the order of their UTF-8 bytes on disk and in etcd. JavaScript's `<`
// compares UTF-16 units and puts 😀 before ｚ. Names of roles may contain both, and with two different orders keys would
// be lost.

const FIRST_SURROGATE = 0xd800

export function compareKeys(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const one = a.charCodeAt(i)
    const other = b.charCodeAt(i)
    if (one !== other) return rank(one) - rank(other)
  }
  return a.length - b.length
}

/** Surrogates represent code points above all others, so they rank last. */
function rank(unit: number): number {
  if (unit < FIRST_SURROGATE) return unit
  return unit < 0xe000 ? unit + 0x10000 : unit
}
