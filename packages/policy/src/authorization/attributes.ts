// SPDX-License-Identifier: Apache-2.0
// Every attribute a rule can name, by the fields of `source` and `operation` and by condition key. Validation and the
// compiler read keys with the same parser, and the compiler requires an attribute for each, so they cannot disagree.
// There is one table per workload, because parsing a request principal depends on the issuers that its policies name.

import type { Dialect } from "../mesh/config.js"
import type { Attributes, Claim } from "../request/attributes.js"
import { claimStrings, claimTexts } from "../request/claim-text.js"
import { withoutTrailingDot } from "../request/host.js"
import { type PlainAttribute, parseConditionKey } from "../resources/authorization-policy/condition-key.js"
import {
  type Attribute,
  addressAttribute,
  requestPrincipalAttribute,
  type TextOptions,
  textAttribute,
} from "./attribute.js"
import { type Comparison, comparisonOf } from "./comparison.js"
import type { Issuers } from "./request-principal.js"

export interface AttributeTable {
  /** Fields of `from[].source`, by the name without `not`. */
  readonly source: Readonly<Record<string, Attribute>>
  /** Fields of `to[].operation`, by the name without `not`. */
  readonly operation: Readonly<Record<string, Attribute>>
  /** The attribute of a condition key, or undefined if there is no such key. */
  condition(key: string): Attribute | undefined
}

const wildcard = { syntax: "wildcard" } as const
const claimText = { syntax: "wildcard", httpOnly: true } as const
const headerText = { syntax: "wildcard", httpOnly: true, emptyIsPresent: true } as const
const fieldValue = { ...headerText, bytes: true } as const

const principal = textAttribute("source.principal", wildcard, ({ peer }) => peer?.principal)
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
const method = textAttribute("method", headerText, ({ http }) => http?.method)

export function attributeTable(issuers: Issuers, dialect?: Dialect): AttributeTable {
  const requestPrincipal = requestPrincipalAttribute(issuers)
  const comparison = comparisonOf(dialect)
  const { pathSyntax, ignoresTrailingDot, lowersSni } = comparison
  const namespace = namespaceAttribute(comparison)
  const host = textAttribute("host", { ...headerText, host: ignoresTrailingDot, ignoreCase: true }, attributes =>
    hostOf(attributes, comparison)?.toLowerCase(),
  )
  const sni = textAttribute("connection.sni", wildcard, ({ sni }) => (lowersSni ? withoutCapitals(sni) : sni))
  const path = textAttribute("path", { syntax: pathSyntax, httpOnly: true }, ({ http }) => http?.path)
  const plain: Readonly<Record<PlainAttribute, Attribute>> = {
    "source.ip": sourceIp,
    "remote.ip": remoteIp,
    "source.namespace": namespace,
    "source.principal": principal,
    "source.serviceAccount": serviceAccount,
    "source.trustDomain": trustDomain,
    "request.auth.principal": requestPrincipal,
    "request.auth.audiences": claim("request.auth.audiences", ["aud"], comparison),
    "request.auth.presenter": claim("request.auth.presenter", ["azp"], comparison),
    "destination.ip": destinationIp,
    "destination.port": destinationPort,
    "connection.sni": sni,
  }
  return {
    source: {
      principals: principal,
      requestPrincipals: requestPrincipal,
      namespaces: namespace,
      serviceAccounts: serviceAccount,
      trustDomains: trustDomain,
      ipBlocks: sourceIp,
      remoteIpBlocks: remoteIp,
    },
    operation: { hosts: host, ports: destinationPort, methods: method, paths: path },
    condition(key) {
      const parsed = parseConditionKey(key)
      if ("problem" in parsed) return undefined
      switch (parsed.attribute) {
        case "request.headers":
          return header(parsed.name, comparison)
        case "request.auth.claims":
          return claim(key, parsed.path, comparison)
        default:
          return plain[parsed.attribute]
      }
    },
  }
}

function namespaceAttribute({ namespaceReachesAccount }: Comparison): Attribute {
  const read = ({ peer }: Attributes) => peer?.namespace
  const ours = textAttribute("source.namespace", { syntax: "stars" }, read)
  if (!namespaceReachesAccount) return ours
  // Any text between `/ns/` and a slash; in the namespace `ns`, also the text after the second `/ns/`.
  const reached = textAttribute("source.namespace", { syntax: "stars" }, ({ peer }) => {
    if (peer?.namespace === undefined) return undefined
    return [peer.namespace, `${peer.namespace}/sa`, ...(peer.namespace === "ns" ? ["sa"] : [])]
  })
  return { ...reached, show: attributes => ours.show(attributes) }
}

const withoutCapitals = (text: string | undefined) => text?.replace(/[A-Z]/g, unit => unit.toLowerCase())

function hostOf({ http }: Attributes, { ignoresTrailingDot }: Comparison): string | undefined {
  return http?.host === undefined || !ignoresTrailingDot ? http?.host : withoutTrailingDot(http.host)
}

function headerOptions(name: string, { ignoresTrailingDot, pathSyntax }: Comparison): TextOptions {
  switch (name) {
    case ":path":
      return { ...headerText, syntax: pathSyntax === "path" ? "target" : "wildcard" }
    case ":authority":
    case "host":
      return { ...fieldValue, host: ignoresTrailingDot }
    default:
      return fieldValue
  }
}

function header(name: string, comparison: Comparison): Attribute {
  return textAttribute(`request.headers[${name}]`, headerOptions(name, comparison), attributes => {
    const { http } = attributes
    if (http === undefined) return undefined
    switch (name) {
      case ":authority":
      // HTTP/2 has `:authority` instead of `Host`; the result of a rule must not depend on the caller's HTTP version.
      case "host":
        return hostOf(attributes, comparison)
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

function claim(name: string, claimSegments: readonly string[], { comparesNumbers }: Comparison): Attribute {
  return textAttribute(name, claimText, ({ token }: Attributes) => {
    let value: Claim | undefined = token?.claims
    for (const segment of claimSegments) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
      value = own(value as ClaimObject, segment) // not an array, as just tested
    }
    return comparesNumbers ? claimTexts(value) : claimStrings(value)
  })
}

type ClaimObject = { readonly [name: string]: Claim }

// `constructor` and the like are inherited by plain objects and must not look like claims.
function own(claims: ClaimObject, name: string): Claim | undefined {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}
