// SPDX-License-Identifier: Apache-2.0
// Every attribute a rule can name, by the fields of `source` and `operation` and by condition key. This table is the
// whole vocabulary: validation, compiling and explaining read it, so none of them knows a key the others do not.

import type { Attributes, Claim } from "../request/attributes.js"
import { type Attribute, addressAttribute, requestPrincipal, textAttribute } from "./attribute.js"

const wildcard = { syntax: "wildcard" } as const
const claimText = { syntax: "wildcard", httpOnly: true } as const
const headerText = { syntax: "wildcard", httpOnly: true, emptyIsPresent: true } as const

const principal = textAttribute("source.principal", wildcard, ({ peer }) => peer?.principal)
const namespace = textAttribute("source.namespace", { syntax: "stars" }, ({ peer }) => peer?.namespace)
const trustDomain = textAttribute("source.trustDomain", wildcard, ({ peer }) => peer?.trustDomain)
const serviceAccount = textAttribute("source.serviceAccount", { syntax: "literal" }, ({ peer }) =>
  peer === undefined ? undefined : `${peer.namespace}/${peer.serviceAccount}`,
)
const sourceIp = addressAttribute("source.ip", ({ sourceIp }) => sourceIp)
const remoteIp = addressAttribute("remote.ip", ({ remoteIp }) => remoteIp)
const destinationIp = addressAttribute("destination.ip", ({ destinationIp }) => destinationIp)
const destinationPort = textAttribute("destination.port", { syntax: "literal" }, ({ destinationPort }) =>
  String(destinationPort),
)
const sni = textAttribute("connection.sni", wildcard, ({ sni }) => sni)
const host = textAttribute("host", { ...headerText, ignoreCase: true }, ({ http }) => http?.host.toLowerCase())
const method = textAttribute("method", headerText, ({ http }) => http?.method)
const path = textAttribute("path", { syntax: "path", httpOnly: true }, ({ http }) => http?.path)
const audiences = claim("request.auth.audiences", ["aud"])
const presenter = textAttribute("request.auth.presenter", claimText, ({ token }) => {
  const azp = token && own(token.claims, "azp")
  return typeof azp === "string" ? azp : undefined
})

/** Fields of `from[].source`, by their positive name. */
export const sourceFields = {
  principals: principal,
  requestPrincipals: requestPrincipal,
  namespaces: namespace,
  serviceAccounts: serviceAccount,
  trustDomains: trustDomain,
  ipBlocks: sourceIp,
  remoteIpBlocks: remoteIp,
} as const satisfies Record<string, Attribute>

/** Fields of `to[].operation`, by their positive name. */
export const operationFields = {
  hosts: host,
  ports: destinationPort,
  methods: method,
  paths: path,
} as const satisfies Record<string, Attribute>

/** Condition keys that stand alone. */
export const plainConditions: ReadonlyMap<string, Attribute> = new Map(
  [
    sourceIp,
    remoteIp,
    namespace,
    principal,
    serviceAccount,
    trustDomain,
    requestPrincipal,
    audiences,
    presenter,
    destinationIp,
    destinationPort,
    sni,
  ].map(attribute => [attribute.name, attribute]),
)

/** Condition keys that take a name in brackets. */
export const bracketConditions = ["request.headers", "request.auth.claims"] as const

/** The attribute of a condition key, or undefined where there is no such key. */
export function conditionAttribute(key: string): Attribute | undefined {
  const plain = plainConditions.get(key)
  if (plain !== undefined) return plain
  for (const base of bracketConditions) {
    if (!key.startsWith(`${base}[`) || !key.endsWith("]") || key.length < base.length + 3) continue
    const inner = key.slice(base.length + 1, -1)
    return base === "request.headers" ? header(inner.toLowerCase()) : claim(key, claimPath(inner))
  }
  return undefined
}

function header(name: string): Attribute {
  return textAttribute(`request.headers[${name}]`, headerText, ({ http }) => {
    if (http === undefined) return undefined
    switch (name) {
      case ":authority":
        return http.host
      case ":method":
        return http.method
      case ":path":
        return http.path + http.query
      case ":scheme":
        return http.scheme
      default:
        return http.headers.get(name)
    }
  })
}

/** Irregular brackets make the whole inner text one name, as the systems whose policies we read do. */
function claimPath(inner: string): readonly string[] {
  const segments = inner.split("][")
  const regular = segments.every(segment => segment !== "" && !segment.includes("[") && !segment.includes("]"))
  return regular ? segments : [inner]
}

function claim(name: string, claimSegments: readonly string[]): Attribute {
  return textAttribute(name, claimText, ({ token }: Attributes) => {
    let value: Claim | undefined = token?.claims
    for (const segment of claimSegments) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
      value = own(value as ClaimObject, segment) // not an array, as just tested
    }
    // Numbers, booleans and objects never match, not even `*`: a type is not coerced.
    return typeof value === "string" || Array.isArray(value) ? value : undefined
  })
}

type ClaimObject = { readonly [name: string]: Claim }

// `constructor` and the like are inherited by plain objects and must not look like claims.
function own(claims: ClaimObject, name: string): Claim | undefined {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}
