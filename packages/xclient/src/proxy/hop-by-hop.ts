// SPDX-License-Identifier: Apache-2.0
// Headers as they go on: without those that speak to the next hop only (RFC 9110 section 7.6.1), and without those that
// the named `Connection` options add to them.

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** By name as first spelt, several lines of one name in their order. `raw` is a list of names and values in turn. */
export function endToEndHeaders(raw: readonly string[], dropped: ReadonlySet<string> = new Set()) {
  const options = new Set<string>()
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = "", value = ""] = [raw[index], raw[index + 1]]
    pairs.push([name, value])
    if (name.toLowerCase() !== "connection") continue
    for (const option of value.split(",")) options.add(option.trim().toLowerCase())
  }
  // INVARIANT: no option takes a body's length away. Sent without it, a body would be read as the next request.
  options.delete("content-length")
  const headers = new Map<string, { readonly name: string; readonly values: string[] }>()
  for (const [name, value] of pairs) {
    const key = name.toLowerCase()
    if (HOP_BY_HOP.has(key) || options.has(key) || dropped.has(key)) continue
    const entry = headers.get(key) ?? { name, values: [] }
    entry.values.push(value)
    headers.set(key, entry)
  }
  return headers
}

export type EndToEndHeaders = ReturnType<typeof endToEndHeaders>

/** One line as text, several as a list: what node:http writes as it was. */
export function asHeaderObject(headers: EndToEndHeaders): { [name: string]: string | string[] } {
  const result: { [name: string]: string | string[] } = Object.create(null)
  for (const { name, values } of headers.values()) result[name] = values.length === 1 ? (values[0] ?? "") : values
  return result
}
