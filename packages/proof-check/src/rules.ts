// SPDX-License-Identifier: Apache-2.0
// Rules as regions: the requests of one kind that a rule matches (docs/semantics.md, "AuthorizationPolicy" and "How values
// match").

import type { Mesh } from "./policies.js"
import { fields, Invalid, list, port, spend, text, texts } from "./read.js"
import { literal, other, others, type Pattern, pathPattern, pattern, REST, wildcard } from "./text.js"
import { blockPattern, type Condition, condition, subjectPattern } from "./values.js"

/** A kind of requests, within which attributes are independent. `token`: its location, "none" or "preflight". */
export interface Frame {
  readonly identity: boolean
  readonly http: boolean
  readonly token: string
}

/** Conditions that must all hold. */
export interface Part {
  readonly id: number
  readonly conditions: readonly Condition[]
}

/** Matches if every group has a part that holds. Regions with equal keys match the same requests. */
export interface Region {
  readonly label: string
  readonly key: string
  readonly groups: readonly (readonly Part[])[]
}

export interface Context {
  readonly frame: Frame
  readonly mesh: Mesh
  /** The issuers that the side's token rules name. */
  readonly issuers: readonly string[]
}

export const hasToken = ({ token }: Frame): boolean => token !== "none" && token !== "preflight"

let parts = 0

export function region(label: string, ...groups: readonly (readonly (readonly Condition[])[])[]): Region {
  const single = groups.filter(group => group.length === 1).flat(2)
  const all = [...(single.length > 0 ? [[single]] : []), ...groups.filter(group => group.length !== 1)]
  const keyOf = (part: readonly Condition[]) => JSON.stringify([...new Set(part.map(({ key }) => key))].sort())
  const key = JSON.stringify(all.map(group => [...new Set(group.map(keyOf))].sort()))
  spend(1 + (key.length >> 4))
  return { label, key, groups: all.map(group => group.map(conditions => ({ id: parts++, conditions }))) }
}

const SOURCE = {
  principals: "source.principal",
  requestPrincipals: "request.auth.principal",
  namespaces: "source.namespace",
  serviceAccounts: "source.serviceAccount",
  trustDomains: "source.trustDomain",
  ipBlocks: "source.ip",
  remoteIpBlocks: "remote.ip",
}
const OPERATION = { hosts: "host", ports: "destination.port", methods: "method", paths: "path" }
const HTTP_ONLY = /^(host$|method$|path$|request\.)/

/** The policy of a rule. */
type Source = { readonly namespace: string; readonly name: string }

/** One field of a rule. */
interface Written {
  readonly name: string
  readonly negated: boolean
  readonly values: readonly string[]
}

/**
 * Undefined if it matches nothing. On TCP an ALLOW rule with HTTP fields matches nothing, and other rules ignore those
 * fields.
 */
export function regionOf(
  rule: unknown,
  policy: Source,
  at: string,
  action: string,
  context: Context,
): Region | undefined {
  const read = fields(rule, at, ["from", "to", "when"])
  const clauses = (part: "from" | "to", inner: string, attributes: { readonly [field: string]: string }) =>
    list(read[part] ?? [], at).map(clause => {
      const nots = Object.keys(attributes).map(field => `not${field.charAt(0).toUpperCase()}${field.slice(1)}`)
      const written = fields(fields(clause, at, [inner])[inner] ?? {}, at, [...Object.keys(attributes), ...nots])
      return Object.entries(attributes).flatMap(([field, name], index): readonly Written[] => [
        { name, negated: false, values: texts(written[field], at) },
        { name, negated: true, values: texts(written[nots[index] ?? ""], at) },
      ])
    })
  const when = list(read.when ?? [], at).flatMap((one): readonly Written[] => {
    const { key, values, notValues } = fields(one, at, ["key", "values", "notValues"])
    const name = text(key, at)
    const [equal, unequal] = [texts(values, at), texts(notValues, at)]
    if (equal.length + unequal.length === 0) throw new Invalid(`${at}: \`${name}\` is compared with nothing`)
    return [
      { name, negated: false, values: equal },
      { name, negated: true, values: unequal },
    ]
  })
  const asked = [clauses("from", "source", SOURCE), clauses("to", "operation", OPERATION), [when]].map(some =>
    some.map(clause => clause.filter(({ values }) => values.length > 0)),
  )
  const isHttp = ({ name }: Written) => HTTP_ONLY.test(name)
  if (!context.frame.http && action === "ALLOW" && asked.flat(2).some(isHttp)) return undefined
  const groups = asked.map(clauses =>
    clauses.flatMap(clause => {
      const counting = clause.filter(written => context.frame.http || !isHttp(written))
      const read = counting.map(written => conditionOf(written, policy, context))
      return read.includes(false) ? [] : [read.filter(one => typeof one === "object")]
    }),
  )
  if (groups.some((group, index) => group.length === 0 && (asked[index]?.length ?? 0) > 0)) return undefined
  return region(at, ...groups.filter(group => group.length > 0 && !group.some(part => part.length === 0)))
}

/** The header, or the path of the claim, that a condition reads. */
export function keyed(name: string): { readonly header: string } | { readonly claim: readonly string[] } | undefined {
  if (name === "request.auth.audiences") return { claim: ["aud"] }
  if (name === "request.auth.presenter") return { claim: ["azp"] }
  const [, of, inner = ""] = /^request\.(headers|auth\.claims)\[(.+)\]$/s.exec(name) ?? []
  if (of === undefined) return undefined
  if (of === "headers") return { header: inner.toLowerCase() }
  return { claim: /^[^[\]]+(\]\[[^[\]]+)*$/.test(inner) ? inner.split("][") : [inner] }
}

/** Claims that have no members. */
const FLAT = ["iss", "sub", "aud", "jti", "exp", "nbf", "iat"]
export const CLIENT_CERT = "x-forwarded-client-cert"

/** The result is a boolean if the kind of requests decides it. An attribute that a request lacks matches no value. */
function conditionOf({ name, negated, values }: Written, policy: Source, context: Context): Condition | boolean {
  const { frame, mesh, issuers } = context
  const domains = [mesh.trustDomain, ...mesh.aliases]
  const on = (attribute: string, patternOf: (value: string) => Pattern, all = values) =>
    condition(attribute, negated, all.map(patternOf))
  const ofPeer = (patternOf: (value: string) => Pattern, all = values) =>
    frame.identity ? on("peer", patternOf, all) : negated
  const word = (value: string) => pattern(...wildcard(value))
  const line = (value: string) => pattern(...wildcard(value, { empty: true }))
  const host = (ignoreCase: boolean) => (value: string) =>
    pattern(...wildcard(value.replace(/^(\*?[^*:][^:]*)\.(:\d*\*?)?$/, "$1$2"), { empty: true, ignoreCase }))
  const segment = [other("/"), others("/")]
  switch (name) {
    case "source.principal":
      return ofPeer(
        word,
        values.flatMap(value => principals(value, domains)),
      )
    case "source.namespace":
      return ofPeer(value => {
        const pieces = value.split("*").map(literal)
        const isAny = pieces.every(piece => piece.length === 0)
        const within = isAny ? segment : pieces.flatMap((piece, at) => (at > 0 ? [others("/"), ...piece] : piece))
        return pattern(...segment, ...literal("/ns/"), ...within, ...literal("/sa/"), REST)
      })
    case "source.trustDomain":
      return ofPeer(
        value => pattern(...wildcard(value, { but: "/" }), ...literal("/ns/"), REST),
        values.flatMap(value => (domains.includes(value) ? domains : [value])),
      )
    case "source.serviceAccount":
      return ofPeer(value => {
        const whole = value.includes("/") ? value : `${policy.namespace}/${value}`
        return pattern(...segment, ...literal(`/ns/${whole.replace("/", "/sa/")}`))
      })
    case "source.ip":
      return on("source ip", blockPattern)
    case "remote.ip":
      return on(frame.http && mesh.proxies > 0 ? "remote ip" : "source ip", blockPattern)
    case "destination.ip":
      return on("destination ip", blockPattern)
    case "destination.port":
      return on("port", value => pattern(...literal(port(value, policy.name))))
    case "connection.sni":
      return !frame.identity && frame.http ? negated : on("sni", word)
    case "host":
      return on("host", host(true))
    case "method":
      return on("method", line)
    case "path":
      return on("path", pathPattern)
    case "request.auth.principal":
      return hasToken(frame) ? on("subject", value => requestPrincipal(value, issuers)) : negated
  }
  const of = keyed(name)
  if (of === undefined) throw new Invalid(`\`${name}\` is not known`)
  if ("claim" in of) {
    const [first = "", ...inner] = of.claim
    if (!hasToken(frame) || (inner.length > 0 && FLAT.includes(first))) return negated
    if (first === "iss") return on("subject", value => subjectPattern(wildcard(value, { but: "\0" }), undefined))
    if (first === "sub") return on("subject", value => subjectPattern(undefined, wildcard(value, { but: "\0" })))
    return on(`claim ${JSON.stringify(of.claim)}`, word)
  }
  // The proxy sets this header, and only for callers with an identity.
  if (of.header === CLIENT_CERT && (!frame.identity || values.includes("*"))) return frame.identity !== negated
  if (of.header === "host" || of.header === ":authority") return on("host", host(false))
  if (of.header === ":method") return on("method", line)
  if (of.header === ":scheme" || of.header === "x-forwarded-proto") return on("scheme", line)
  if (of.header.startsWith(":") && of.header !== ":path") throw new Invalid(`\`${name}\` is not known`)
  return on(`header ${of.header}`, line)
}

/** In a mesh with aliases, a principal of one of its trust domains also means the same principal in the others. */
function principals(value: string, domains: readonly string[]): readonly string[] {
  const [domain = "", ...rest] = value.split("/")
  const ends = (a: string, b: string) =>
    a.startsWith("*") ? b.endsWith(a.slice(1)) : a.endsWith("*") ? b.startsWith(a.slice(0, -1)) : a === b
  const same = (known: string) => ends(domain, known) || ends(known, domain)
  if (rest.length !== 4 || domain === "*" || !(domain === "cluster.local" || domains.some(same))) return [value]
  return domains.map(known => (domain.startsWith("*") && same(known) ? value : [known, ...rest].join("/")))
}

function requestPrincipal(value: string, issuers: readonly string[]): Pattern {
  const half = (of: string) => wildcard(of, { but: "\0" })
  const split = (at: number, of = half, by = half) =>
    at < 0 ? undefined : subjectPattern(of(value.slice(0, at)), by(value.slice(at + 1)))
  const last = value.lastIndexOf("/")
  if (value === "*") return subjectPattern(half("*"), half("*"))
  if (value.startsWith("*")) return split(last, half, literal) ?? subjectPattern(half("*"), half(value))
  if (value.endsWith("*")) return split(last, literal, half) ?? subjectPattern(half(value), half("*"))
  const named = issuers.filter(issuer => value.startsWith(`${issuer}/`)).map(issuer => issuer.length)
  return split(named.length > 0 ? Math.max(...named) : last, literal, literal) ?? subjectPattern(literal(value), [])
}
