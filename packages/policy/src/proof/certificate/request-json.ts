// SPDX-License-Identifier: Apache-2.0
// A request as a certificate shows it: the value of each attribute that rules can read, with the names that the search
// uses.

import type { Claim } from "../../request/attributes.js"
import { NO_KEY } from "../token-space.js"
import type { Witness, WitnessToken } from "../witness.js"

type Values = { [attribute: string]: unknown }

export function requestOf({ protocol, token, headers = {}, ...witness }: Witness): Values {
  const http = protocol === "http"
  const values: Values = {
    "destination ip": witness.destinationIp,
    host: witness.host,
    method: witness.method,
    path: witness.path,
    peer: witness.principal,
    port: String(witness.port),
    "remote ip": http ? (witness.remoteIp ?? witness.sourceIp) : undefined,
    scheme: witness.scheme,
    sni: witness.sni,
    "source ip": witness.sourceIp,
    ...(token && valuesOf(token)),
  }
  for (const [name, lines] of Object.entries(headers)) values[`header ${name}`] = lines
  return { http, token: token?.place, values }
}

function valuesOf({ claims, expires, key = NO_KEY }: WitnessToken): Values {
  const { iss: issuer = null, sub: subject = null, ...others } = claims
  const values: Values = { expiry: expires ? "set" : "none", subject: { issuer, subject }, "token key": key }
  addClaims(values, [], others)
  return values
}

function addClaims(values: Values, path: readonly string[], claims: { readonly [name: string]: Claim }): void {
  for (const [name, claim] of Object.entries(claims)) {
    const inner = [...path, name]
    const attribute = `claim ${JSON.stringify(inner)}`
    if (typeof claim === "string") values[attribute] = attribute === 'claim ["jti"]' ? claim : [claim]
    else if (Array.isArray(claim)) values[attribute] = claim
    else if (typeof claim === "object" && claim !== null) {
      addClaims(values, inner, claim as { readonly [name: string]: Claim }) // neither null nor a list, as just tested
    }
  }
}
