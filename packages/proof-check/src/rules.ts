// SPDX-License-Identifier: Apache-2.0
// Rules as regions: the requests of one kind that a rule matches (docs/semantics.md, "AuthorizationPolicy" and "How values
// match"). What is not modelled is opaque: a request of the region may or may not match.

import type { Mesh, Policy } from "./policies.js"
import { type Fields, fields, Invalid, list, text, texts } from "./read.js"
import {
  accountPattern,
  literal,
  namespacePattern,
  pathPattern,
  type Steps,
  trustDomainPattern,
  wildcard,
} from "./text.js"
import { blockMark, type Condition, choiceMark, condition, type Mark, subjectMark, textMark } from "./values.js"

/** A kind of requests: within one, attributes are independent. `token`: where it is, else "none" or "preflight". */
export interface Frame {
  readonly identity: boolean
  readonly http: boolean
  readonly token: string
}

/** Conditions that must all hold; opaque where something more is asked. */
export interface Part {
  readonly conditions: readonly Condition[]
  readonly opaque: string
}

/** Matches where every group has a part that holds. Regions of equal key match the same requests. */
export interface Region {
  readonly label: string
  readonly key: string
  readonly groups: readonly (readonly Part[])[]
}

export interface Context {
  readonly frame: Frame
  readonly mesh: Mesh
  readonly issuers: readonly string[]
}

export const hasToken = ({ token }: Frame): boolean => token !== "none" && token !== "preflight"

export function region(label: string, groups: readonly (readonly Part[])[]): Region {
  const single = groups.filter(parts => parts.length === 1).flat()
  const merged = {
    conditions: single.flatMap(part => part.conditions),
    opaque: single.map(part => part.opaque).join(""),
  }
  const several = groups.filter(parts => parts.length !== 1)
  const all = single.length === 0 ? several : [[merged], ...several]
  const keyOf = (part: Part) => [[...new Set(part.conditions.map(({ key }) => key))].sort(), part.opaque]
  const key = all.map(parts => [...new Set(parts.map(part => JSON.stringify(keyOf(part))))].sort())
  return { label, key: JSON.stringify(key), groups: all }
}

export const always = (label: string): Region => region(label, [])
export const only = (label: string, ...conditions: readonly Condition[]): Region =>
  region(label, [[{ conditions, opaque: "" }]])

const SOURCE: Fields = {
  principals: "source.principal",
  requestPrincipals: "request.auth.principal",
  namespaces: "source.namespace",
  serviceAccounts: "source.serviceAccount",
  trustDomains: "source.trustDomain",
  ipBlocks: "source.ip",
  remoteIpBlocks: "remote.ip",
}
const OPERATION: Fields = { hosts: "host", ports: "destination.port", methods: "method", paths: "path" }
const HTTP_ONLY = /^(host|method|path|request\..*)$/

const notOf = (field: string): string => `not${field.charAt(0).toUpperCase()}${field.slice(1)}`

/** One field of a rule. */
interface Written {
  readonly name: string
  readonly negated: boolean
  readonly values: readonly string[]
}

/** `action`: on TCP an ALLOW rule that asks for HTTP matches nothing, and others match whatever they ask of it. */
export function regionOf(
  rule: unknown,
  policy: Policy,
  at: string,
  action: string,
  context: Context,
): Region | undefined {
  const read = fields(rule, at, ["from", "to", "when"])
  const clausesOf = (name: "from" | "to", inner: string, known: Fields) =>
    list(read[name] ?? [], at).map(one => {
      const written = fields(
        fields(one, at, [inner])[inner] ?? {},
        at,
        Object.keys(known).flatMap(field => [field, notOf(field)]),
      )
      return Object.entries(known).flatMap(([field, attribute]) =>
        [field, notOf(field)].map(spelled => ({
          name: text(attribute, at),
          negated: spelled !== field,
          values: texts(written[spelled], at),
        })),
      )
    })
  const when = list(read.when ?? [], at).flatMap(one => {
    const { key, values, notValues } = fields(one, at, ["key", "values", "notValues"])
    return [values, notValues].map((some, index) => ({
      name: text(key, at),
      negated: index === 1,
      values: texts(some, at),
    }))
  })
  const lists: (readonly (readonly Written[])[])[] = [
    clausesOf("from", "source", SOURCE),
    clausesOf("to", "operation", OPERATION),
    [when],
  ]
  const asked = lists.map(clauses => clauses.map(clause => clause.filter(({ values }) => values.length > 0)))
  if (!context.frame.http && action === "ALLOW" && asked.flat(2).some(({ name }) => HTTP_ONLY.test(name)))
    return undefined
  const groups: (readonly Part[])[] = []
  for (const clauses of asked.filter(some => some.length > 0)) {
    const parts = clauses.flatMap(clause => partOf(clause, policy, context) ?? [])
    if (parts.length === 0) return undefined
    if (!parts.some(part => part.conditions.length === 0 && part.opaque === "")) groups.push(parts)
  }
  return region(at, groups)
}

function partOf(clause: readonly Written[], policy: Policy, context: Context): Part | undefined {
  const conditions: Condition[] = []
  let opaque = ""
  for (const written of clause) {
    if (!context.frame.http && HTTP_ONLY.test(written.name)) continue
    const read = conditionOf(written, policy, context)
    if (read === false) return undefined
    if (read === "opaque") opaque += JSON.stringify([written.name, written.negated, written.values])
    else if (read !== true) conditions.push(read)
  }
  return { conditions, opaque }
}

/** The header or the claim, by its members, that a condition is about. */
export function keyed(name: string): { readonly header: string } | { readonly claim: readonly string[] } | undefined {
  if (name === "request.auth.audiences") return { claim: ["aud"] }
  if (name === "request.auth.presenter") return { claim: ["azp"] }
  const [, of, inner = ""] = /^request\.(headers|auth\.claims)\[(.+)\]$/s.exec(name) ?? []
  if (of === undefined) return undefined
  if (of === "headers") return { header: inner.toLowerCase() }
  return { claim: /^[^[\]]+(\]\[[^[\]]+)*$/.test(inner) ? inner.split("][") : [inner] }
}

const FLAT = ["iss", "sub", "aud", "jti", "exp", "nbf", "iat"]

function conditionOf(
  { name, negated, values }: Written,
  policy: Policy,
  context: Context,
): Condition | boolean | "opaque" {
  const { frame, mesh, issuers } = context
  const domains = [mesh.trustDomain, ...mesh.aliases]
  const on = (attribute: string, mark: (value: string) => Mark, some = values) =>
    condition(attribute, negated, some.map(mark))
  const ofText = (pattern: (value: string) => Steps) => (value: string) => textMark(pattern(value))
  const ofPeer = (pattern: (value: string) => Steps, some = values) =>
    frame.identity ? on("peer", ofText(pattern), some) : negated
  const header = (value: string) => wildcard(value, { empty: true })
  const host = (anyCase: boolean) => (value: string) =>
    wildcard((anyCase ? value.toLowerCase() : value).replace(/^(\*?[^*:][^:]*)\.(:\d*\*?)?$/, "$1$2"), {
      empty: true,
      anyCase,
    })
  switch (name) {
    case "source.principal":
      return ofPeer(
        value => wildcard(value),
        values.flatMap(value => principals(value, domains)),
      )
    case "source.namespace":
      return ofPeer(namespacePattern)
    case "source.trustDomain":
      return ofPeer(
        trustDomainPattern,
        values.flatMap(value => (domains.includes(value) ? domains : [value])),
      )
    case "source.serviceAccount":
      return ofPeer(
        accountPattern,
        values.map(value => (value.includes("/") ? value : `${policy.namespace}/${value}`)),
      )
    case "source.ip":
      return on("source ip", blockMark)
    case "remote.ip":
      return on(frame.http && mesh.proxies > 0 ? "remote ip" : "source ip", blockMark)
    case "destination.ip":
      return on("destination ip", blockMark)
    case "destination.port":
      return on("port", value => choiceMark(String(Number(value))))
    case "connection.sni":
      return !frame.identity && frame.http
        ? negated
        : on(
            "sni",
            ofText(value => wildcard(value)),
          )
    case "host":
      return on("host", ofText(host(true)))
    case "method":
      return on("method", ofText(header))
    case "path":
      return on("path", ofText(pathPattern))
    case "request.auth.principal":
      return hasToken(frame) ? on("subject", value => subjectMark(...requestPrincipal(value, issuers))) : negated
  }
  const of = keyed(name)
  if (of === undefined) throw new Invalid(`\`${name}\` is not known`)
  if ("claim" in of) {
    const [first = "", ...inner] = of.claim
    if (!hasToken(frame) || (inner.length > 0 && FLAT.includes(first))) return negated
    if (["exp", "nbf", "iat"].includes(first)) return "opaque"
    if (first === "iss") return on("subject", value => subjectMark(wildcard(value), undefined))
    if (first === "sub") return on("subject", value => subjectMark(undefined, wildcard(value)))
    return on(
      `claim ${JSON.stringify(of.claim)}`,
      ofText(value => wildcard(value)),
    )
  }
  if (of.header === ":path") return "opaque"
  // The proxy says it itself, and only of callers with an identity.
  if (of.header === "x-forwarded-client-cert") {
    if (!frame.identity) return negated
    return values.includes("*") ? !negated : "opaque"
  }
  if (of.header === "host" || of.header === ":authority") return on("host", ofText(host(false)))
  if (of.header === ":method") return on("method", ofText(header))
  if (of.header === ":scheme" || of.header === "x-forwarded-proto") return on("scheme", ofText(header))
  return on(`header ${of.header}`, ofText(header))
}

/** In a mesh with aliases a principal of one of its trust domains stands for the same one under each of them. */
function principals(value: string, domains: readonly string[]): readonly string[] {
  const [domain = "", ...rest] = value.split("/")
  const ends = (a: string, b: string) =>
    a.startsWith("*") ? b.endsWith(a.slice(1)) : a.endsWith("*") ? b.startsWith(a.slice(0, -1)) : a === b
  const same = (known: string) => ends(domain, known) || ends(known, domain)
  if (rest.length !== 4 || domain === "*" || !(domain === "cluster.local" || domains.some(same))) return [value]
  return domains.map(known => (domain.startsWith("*") && same(known) ? value : [known, ...rest].join("/")))
}

function requestPrincipal(value: string, issuers: readonly string[]): [Steps, Steps] {
  const any = wildcard("*")
  if (value === "*") return [any, any]
  const last = value.lastIndexOf("/")
  if (value.startsWith("*"))
    return last < 0 ? [any, wildcard(value)] : [wildcard(value.slice(0, last)), literal(value.slice(last + 1))]
  if (value.endsWith("*"))
    return last < 0 ? [wildcard(value), any] : [literal(value.slice(0, last)), wildcard(value.slice(last + 1))]
  const named = issuers.filter(issuer => value.startsWith(`${issuer}/`)).map(issuer => issuer.length)
  const end = named.length > 0 ? Math.max(...named) : last
  return end < 0 ? [literal(value), []] : [literal(value.slice(0, end)), literal(value.slice(end + 1))]
}
