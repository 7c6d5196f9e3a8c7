// SPDX-License-Identifier: Apache-2.0
// Sanitises untrusted text (from servers, proxies, people) for a status, an event or a log line: short, on one line,
// without control characters or characters that hide others.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

export function oneLine(text: string, longest = 200): string {
  // Cut first: replacing takes linear time, but the text may have any length.
  const flat = text
    .slice(0, longest * 2)
    .replace(HIDDEN, " ")
    .trim()
  return flat.length > longest || text.length > longest * 2 ? `${flat.slice(0, longest)}…` : flat
}

/** `a, b and 3 more`. */
export function someOf(names: readonly string[], total = names.length, most = 2): string {
  const named = names.slice(0, most)
  const others = total - named.length
  if (others > 0) return `${named.join(", ")}${named.length > 0 ? " and " : ""}${others} more`
  return named.length < 2 ? named.join("") : `${named.slice(0, -1).join(", ")} and ${named.at(-1)}`
}
