// SPDX-License-Identifier: Apache-2.0
// Envoy and other gateways join the lines of a header with commas before they send a question, but rules compare each
// line. So every request that may have been joined to this one is judged, and if one of them is denied, this one is.

import type { HttpRequest } from "@merlon/policy/authorization"

/** Every reading is judged, so their number is bounded. */
const MAX_READINGS = 64

/**
 * The request with each combination of lines that the gateway may have joined, for the headers with these names.
 * Undefined if there are too many.
 */
export function unjoined(request: HttpRequest, names: Iterable<string>): readonly HttpRequest[] | undefined {
  const { headers } = request
  let readings: readonly ReadonlyMap<string, readonly string[]>[] = [new Map()]
  for (const name of names) {
    for (const line of headers.get(name) ?? []) {
      const ways = splits(line)
      if (ways === undefined || readings.length * ways.length > MAX_READINGS) return undefined
      readings = readings.flatMap(reading =>
        ways.map(lines => new Map([...reading, [name, [...(reading.get(name) ?? []), ...lines]]])),
      )
    }
  }
  return readings.map(reading => ({
    ...request,
    headers: { get: (name: string) => reading.get(name) ?? headers.get(name) },
  }))
}

/** Each comma belongs to a line or joins two: `a,b` was one line, or two. */
function splits(line: string): readonly (readonly string[])[] | undefined {
  const [first = "", ...rest] = line.split(",")
  if (2 ** rest.length > MAX_READINGS) return undefined
  return rest.reduce<readonly (readonly string[])[]>(
    (ways, part) =>
      ways.flatMap(lines => [
        [...lines.slice(0, -1), `${lines.at(-1)},${part}`.trim()],
        [...lines, part.trim()],
      ]),
    [[first.trim()]],
  )
}
