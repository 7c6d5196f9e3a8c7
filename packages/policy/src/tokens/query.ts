// SPDX-License-Identifier: Apache-2.0
// The query of a request target, parameter by parameter and as sent. Names are compared decoded, as the application reads
// them: a token under `access%5Ftoken` is a token. Parameters that are kept keep their spelling.

/**
 * The value of the first parameter of each wanted name; `take` is called at most once per name, with the entry stored
 * under it.
 */
export function readParameters<T>(
  target: string,
  wanted: ReadonlyMap<string, T>,
  take: (name: string, filed: T, value: string) => void,
): void {
  const start = target.indexOf("?")
  if (start < 0) return
  const seen = new Set<string>()
  for (const piece of target.slice(start + 1).split("&")) {
    const name = nameOf(piece)
    const filed = wanted.get(name)
    if (filed === undefined || seen.has(name)) continue
    seen.add(name)
    const equals = piece.indexOf("=")
    take(name, filed, equals < 0 ? "" : decode(piece.slice(equals + 1)))
  }
}

/** The target without the parameters of these names: all of them, or all but the first. */
export function withoutParameters(target: string, all: ReadonlySet<string>, repeats: ReadonlySet<string>): string {
  const start = target.indexOf("?")
  if (start < 0) return target
  const seen = new Set<string>()
  const kept = target
    .slice(start + 1)
    .split("&")
    .filter(piece => {
      const name = nameOf(piece)
      if (all.has(name) || (repeats.has(name) && seen.has(name))) return false
      seen.add(name)
      return true
    })
  return kept.length === 0 ? target.slice(0, start) : `${target.slice(0, start)}?${kept.join("&")}`
}

function nameOf(piece: string): string {
  const equals = piece.indexOf("=")
  return decode(equals < 0 ? piece : piece.slice(0, equals))
}

const ESCAPED = /%[0-9A-Fa-f]{2}/

// WHATWG URL section 5.1: `+` is a space, and a malformed escape is kept literally.
function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text
  if (!ESCAPED.test(spaced)) return spaced
  const bytes = spaced.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, "latin1").toString("utf8")
}
