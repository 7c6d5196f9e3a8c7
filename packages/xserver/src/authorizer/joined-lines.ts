// SPDX-License-Identifier: Apache-2.0
// Envoy joins the lines of a header with commas before it asks, but rules compare each line. So every request that Envoy
// may have made this one of is judged, and one that is denied denies it.

import type { HttpRequest } from "@merlon/policy/authorization"

/** Each is judged, so their number has a bound. */
const MAX_READINGS = 64

/**
 * The request in each way in which its lines may have been before commas joined them, as far as headers with these names
 * go. Undefined if there are too many ways.
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

/** `a,b` was one line, or two: each comma is one of the line, or joins two. */
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
