// SPDX-License-Identifier: Apache-2.0
// A request as a phrase: `GET /admin/ from cluster.local/ns/app/sa/a`.

import type { Witness } from "./witness.js"

export function describeWitness({
  protocol,
  method,
  path,
  port,
  principal,
  token,
  headers,
  sourceIp,
}: Witness): string {
  const what = protocol === "tcp" ? `a TCP connection to port ${port}` : `${method} ${path}`
  const who = principal === undefined ? "in plaintext" : `from ${principal}`
  const { iss, sub } = token?.claims ?? {}
  const owner = [iss, sub].filter(claim => typeof claim === "string").join("/")
  const holding =
    token === undefined ? [] : [token.key === undefined ? "with an unsigned token" : `with a token of ${owner}`]
  const lines = Object.entries(headers ?? {}).map(([name, values]) => `with ${name}: ${values.join(", ")}`)
  const from = sourceIp === "10.0.0.9" ? [] : [`at ${sourceIp}`]
  return [what, who, ...from, ...holding, ...lines].join(" ")
}
