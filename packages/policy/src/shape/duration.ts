// SPDX-License-Identifier: Apache-2.0
// Durations in Go's format (`500ms`, `1m30s`, `1.5h`), parsed exactly: nanoseconds as a bigint, or undefined.

const UNITS = new Map<string, bigint>([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
])
const MAX_LENGTH = 64
// Both micro signs are escapes: one character beyond Latin-1 would make V8 store a whole program with two bytes per
// character.
const WHOLE = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/
const PART = /(\d*)\.?(\d*)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g

export function parseDuration(text: string): bigint | undefined {
  if (text === "0") return 0n
  const match = text.length > MAX_LENGTH ? null : WHOLE.exec(text)
  if (match === null) return undefined
  let total = 0n
  for (const [, whole = "", fraction = "", unit = ""] of (match[2] ?? "").matchAll(PART)) {
    const scale = UNITS.get(unit)
    if (scale === undefined) return undefined
    total += (BigInt(`${whole}${fraction}` || "0") * scale) / 10n ** BigInt(fraction.length)
  }
  return match[1] === "-" ? -total : total
}

/** For fields that validation limits to whole milliseconds. */
export function durationMilliseconds(text: string): number | undefined {
  const nanoseconds = parseDuration(text)
  return nanoseconds === undefined ? undefined : Number(nanoseconds / 1_000_000n)
}
