// SPDX-License-Identifier: Apache-2.0
// Cookie pairs (RFC 6265 section 4.2.1), read from all `Cookie` lines, because HTTP/2 may send several. The first pair
// of a name counts. Whitespace around names and values is dropped, since applications drop it too.

/**
 * The value of the first pair of each wanted name; `take` is called at most once per name, with the entry stored under
 * it.
 */
export function readCookies<T>(
  lines: readonly string[],
  wanted: ReadonlyMap<string, T>,
  take: (name: string, filed: T, value: string) => void,
): void {
  const seen = new Set<string>()
  for (const pair of pairsOf(lines)) {
    const name = nameOf(pair)
    const filed = name === undefined ? undefined : wanted.get(name)
    if (name === undefined || filed === undefined || seen.has(name)) continue
    seen.add(name)
    take(name, filed, unquote(pair.slice(pair.indexOf("=") + 1).trim()))
  }
}

/** One line without the pairs of these names: all of them, or all but the first. Empty if no pair is left. */
export function withoutCookies(
  lines: readonly string[],
  all: ReadonlySet<string>,
  repeats: ReadonlySet<string>,
): string {
  const seen = new Set<string>()
  const kept: string[] = []
  for (const pair of pairsOf(lines)) {
    const name = nameOf(pair)
    if (name !== undefined) {
      if (all.has(name) || (repeats.has(name) && seen.has(name))) continue
      seen.add(name)
    }
    kept.push(pair)
  }
  return kept.join("; ")
}

function* pairsOf(lines: readonly string[]): Generator<string> {
  for (const line of lines) {
    for (const piece of line.split(";")) {
      const pair = piece.trim()
      if (pair !== "") yield pair
    }
  }
}

function nameOf(pair: string): string | undefined {
  const equals = pair.indexOf("=")
  return equals < 0 ? undefined : pair.slice(0, equals).trim()
}

function unquote(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}
