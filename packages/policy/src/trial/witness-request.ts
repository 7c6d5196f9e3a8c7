// SPDX-License-Identifier: Apache-2.0
// Describes a request that a proof found, in the form in which users describe requests.

import type { Witness } from "../proof/witness.js"
import type { DescribedRequest } from "./described-request.js"

export function requestOfWitness({
  protocol,
  principal,
  sourceIp,
  destinationIp,
  port,
  sni,
  method,
  host,
  path,
  headers,
  token,
}: Witness): DescribedRequest {
  const [kind, name = "", prefix]: readonly string[] = token === undefined ? [] : JSON.parse(token.place)
  const place =
    kind === "header" ? { header: name, prefix: prefix ?? "" } : kind === "cookie" ? { cookie: name } : { param: name }
  const http =
    protocol === "tcp"
      ? { protocol }
      : { method: method ?? "GET", path: path ?? "/", ...(host === undefined ? {} : { host }) }
  return {
    ...http,
    ...(principal === undefined ? {} : { from: principal }),
    ip: sourceIp,
    ...(destinationIp === ANY_ADDRESS ? {} : { destinationIp }),
    port,
    ...(sni === undefined ? {} : { sni }),
    ...(headers === undefined || Object.keys(headers).length === 0 ? {} : { headers }),
    ...(token === undefined
      ? {}
      : { token: { claims: token.claims, ...place, ...(token.key === undefined ? { forged: true } : {}) } }),
  }
}

/** The address of a workload about which nothing is known. */
const ANY_ADDRESS = "10.0.0.1"
