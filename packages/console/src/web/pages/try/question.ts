// SPDX-License-Identifier: Apache-2.0
// The query of the form, read from the address, so that it can be shared as a link.

export interface Asked {
  readonly workload: string
  readonly request: Readonly<Record<string, unknown>>
}

/** Undefined until the address names a workload. */
export function questionOf(search: URLSearchParams): Asked | undefined {
  const workload = search.get("workload")
  if (workload === null) return undefined
  const from = search.get("from")
  const headers = (search.get("headers") ?? "")
    .split("\n")
    .map(line => /^([^:]+):\s*(.*)$/.exec(line))
    .flatMap(found => (found === null ? [] : [[(found[1] ?? "").trim().toLowerCase(), found[2] ?? ""] as const]))
  const claims = claimsIn(search.get("claims"))
  return {
    workload,
    request: {
      ...(from === null ? {} : { from }),
      method: search.get("method") ?? "GET",
      path: search.get("path") ?? "/",
      ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
      ...(claims === undefined ? {} : { token: { claims } }),
    },
  }
}

function claimsIn(text: string | null): unknown {
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // Invalid JSON is sent unchanged: the server's response explains the error.
    return text
  }
}
