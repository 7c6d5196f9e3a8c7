// SPDX-License-Identifier: Apache-2.0
// An example request in one line.

import type { Witness } from "../api/answers.js"

export function witnessText({
  protocol,
  principal,
  sourceIp,
  port,
  method,
  host,
  path,
  headers,
  token,
}: Witness): string {
  const who = principal ?? `${sourceIp} in plaintext`
  const what = protocol === "tcp" ? "a TCP connection" : `${method ?? "GET"} ${path ?? "/"}${host ? ` at ${host}` : ""}`
  const named = Object.entries(headers ?? {}).map(([name, values]) => `${name}: ${values.join(", ")}`)
  const further = [
    ...(named.length > 0 ? [`with ${named.join("; ")}`] : []),
    ...(token === undefined ? [] : [`with the token claims ${JSON.stringify(token.claims)}`]),
  ]
  return [`${what} from ${who} to port ${port}`, ...further].join(" ")
}
