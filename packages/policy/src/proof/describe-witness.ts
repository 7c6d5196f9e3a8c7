// SPDX-License-Identifier: Apache-2.0
// A request as a phrase: `GET /admin/ from cluster.local/ns/app/sa/a`.

import type { Witness, WitnessToken } from "./witness.js"

export function describeWitness({
  protocol,
  method,
  path,
  port,
  principal,
  token,
  secondToken,
  headers,
  sourceIp,
}: Witness): string {
  const what = protocol === "tcp" ? `a TCP connection to port ${port}` : `${method} ${path}`
  const who = principal === undefined ? "in plaintext" : `from ${principal}`
  const holding = [token, secondToken].flatMap(one => (one === undefined ? [] : [tokenWords(one)]))
  const lines = Object.entries(headers ?? {}).map(([name, values]) => `with ${name}: ${values.join(", ")}`)
  const from = sourceIp === "10.0.0.9" ? [] : [`at ${sourceIp}`]
  return [what, who, ...from, ...holding, ...lines].join(" ")
}

function tokenWords({ key, claims: { iss, sub } }: WitnessToken): string {
  const owner = [iss, sub].filter(claim => typeof claim === "string").join("/")
  return key === undefined ? "with an unsigned token" : `with a token of ${owner}`
}
