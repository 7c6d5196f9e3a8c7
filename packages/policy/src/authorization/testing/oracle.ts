// SPDX-License-Identifier: Apache-2.0
// A second evaluator for tests. It reads the documents as written and tries every rule in turn, without index,
// compilation or cache. It shares no matching code with the real evaluator except the parsers of addresses.

import type { MeshConfig } from "../../mesh/config.js"
import type { Attributes, Claim } from "../../request/attributes.js"
import { type IpAddress, parseCidr } from "../../request/ip.js"
import type { Condition, Operation, Rule, Source } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../../resources/document.js"

export interface NaiveVerdict {
  readonly verdict: "allow" | "deny"
  readonly stage: "deny" | "allow" | "default"
  readonly rule: string | undefined
}

/** The other inputs of a decision besides documents and request: the mesh, and the named issuers. */
interface Known {
  readonly mesh: MeshConfig
  readonly issuers: readonly string[]
}

type Values = readonly string[] | undefined

export function naiveDecide(
  policies: readonly AuthorizationPolicy[],
  attributes: Attributes,
  mesh: MeshConfig,
  issuers: readonly string[] = [],
): NaiveVerdict {
  const of = (action: string) => policies.filter(({ spec }) => (spec.action ?? "ALLOW") === action)
  const denied = matches(of("DENY"), "DENY", attributes, { mesh, issuers })
  if (denied !== undefined) return { verdict: "deny", stage: "deny", rule: denied }
  if (of("ALLOW").length === 0) return { verdict: "allow", stage: "default", rule: undefined }
  const allowed = matches(of("ALLOW"), "ALLOW", attributes, { mesh, issuers })
  return { verdict: allowed === undefined ? "deny" : "allow", stage: "allow", rule: allowed }
}

/** Only its result is compared: the smallest id among all rules that match. */
export function naiveAudit(
  policies: readonly AuthorizationPolicy[],
  attributes: Attributes,
  mesh: MeshConfig,
  issuers: readonly string[] = [],
) {
  const audits = policies.filter(({ spec }) => spec.action === "AUDIT")
  return matches(audits, "AUDIT", attributes, { mesh, issuers })
}

function matches(
  policies: readonly AuthorizationPolicy[],
  action: string,
  attributes: Attributes,
  known: Known,
): string | undefined {
  const ids: string[] = []
  for (const { metadata, spec } of policies) {
    for (const [index, rule] of (spec.rules ?? []).entries()) {
      if (action === "ALLOW" && attributes.http === undefined && usesHttp(rule)) continue
      if (ruleMatches(rule, metadata.namespace, attributes, known)) {
        ids.push(`ns[${metadata.namespace}]-policy[${metadata.name}]-rule[${index}]`)
      }
    }
  }
  return ids.sort()[0]
}

const HTTP_FIELDS = [
  "requestPrincipals",
  "notRequestPrincipals",
  "hosts",
  "notHosts",
  "methods",
  "notMethods",
  "paths",
  "notPaths",
]

function usesHttp({ from = [], to = [], when = [] }: Rule): boolean {
  const fields = [...from.map(({ source }) => source), ...to.map(({ operation }) => operation)]
  const named = fields.some(field =>
    Object.entries(field ?? {}).some(([name, list]) => HTTP_FIELDS.includes(name) && list.length > 0),
  )
  return named || when.some(({ key }) => key.startsWith("request."))
}

function ruleMatches({ from = [], to = [], when = [] }: Rule, namespace: string, a: Attributes, known: Known): boolean {
  const fromOk = from.length === 0 || from.some(({ source }) => sourceMatches(source ?? {}, namespace, a, known))
  const toOk = to.length === 0 || to.some(({ operation }) => operationMatches(operation ?? {}, a, known))
  return fromOk && toOk && when.every(condition => conditionMatches(condition, namespace, a, known))
}

function sourceMatches(s: Source, namespace: string, a: Attributes, known: Known): boolean {
  return (
    both(s.principals, s.notPrincipals, value => principal(value, a, known)) &&
    both(s.namespaces, s.notNamespaces, value => peerNamespace(value, a, known)) &&
    both(s.serviceAccounts, s.notServiceAccounts, value => serviceAccount(value, namespace, a)) &&
    both(s.trustDomains, s.notTrustDomains, value => trustDomain(value, a, known)) &&
    both(s.ipBlocks, s.notIpBlocks, value => inBlock(value, a.sourceIp)) &&
    both(s.remoteIpBlocks, s.notRemoteIpBlocks, value => inBlock(value, a.remoteIp)) &&
    (a.http === undefined ||
      both(s.requestPrincipals, s.notRequestPrincipals, value => requestPrincipal(value, a, known)))
  )
}

function operationMatches(o: Operation, a: Attributes, known: Known): boolean {
  const { http } = a
  const named = (host: string): string => (isIstio(known) ? host : undotted(host)).toLowerCase()
  if (!both(o.ports, o.notPorts, value => Number(value) === a.destinationPort)) return false
  if (http === undefined) return true
  return (
    both(o.hosts, o.notHosts, value => http.host !== undefined && text(named(value), named(http.host), true)) &&
    both(o.methods, o.notMethods, value => text(value, http.method, true)) &&
    both(o.paths, o.notPaths, value => (isIstio(known) ? istioPath : path)(value, http.path))
  )
}

function conditionMatches(c: Condition, namespace: string, a: Attributes, known: Known): boolean {
  if (c.key.startsWith("request.") && a.http === undefined) return true
  return both(c.values, c.notValues, value => conditionValue(c.key, value, namespace, a, known))
}

function conditionValue(key: string, value: string, namespace: string, a: Attributes, known: Known): boolean {
  const anyOf = (found: Claim | undefined): boolean =>
    (Array.isArray(found) ? found : [found]).some(
      item =>
        (isIstio(known) ? ["string"] : ["string", "number", "boolean"]).includes(typeof item) &&
        text(value, `${item}`, false),
    )
  switch (key) {
    case "source.ip":
      return inBlock(value, a.sourceIp)
    case "remote.ip":
      return inBlock(value, a.remoteIp)
    case "destination.ip":
      return inBlock(value, a.destinationIp)
    case "destination.port":
      return Number(value) === a.destinationPort
    case "connection.sni":
      return a.sni !== undefined && text(value, isIstio(known) ? a.sni.toLowerCase() : a.sni, false)
    case "source.principal":
      return principal(value, a, known)
    case "source.namespace":
      return peerNamespace(value, a, known)
    case "source.serviceAccount":
      return serviceAccount(value, namespace, a)
    case "source.trustDomain":
      return trustDomain(value, a, known)
    case "request.auth.principal":
      return requestPrincipal(value, a, known)
    case "request.auth.audiences":
      return anyOf(a.token?.claims.aud)
    case "request.auth.presenter":
      return anyOf(a.token?.claims.azp)
  }
  const header = /^request\.headers\[(.+)\]$/.exec(key)?.[1]?.toLowerCase()
  if (header === ":path" && value === "/*" && !isIstio(known)) return a.http !== undefined
  if (!isIstio(known) && (header === "host" || header === ":authority"))
    return headerLines(header, a).some(line => text(undotted(value), undotted(line), true))
  if (header !== undefined) return headerLines(header, a).some(line => text(value, line, true))
  const inner = /^request\.auth\.claims\[(.+)\]$/.exec(key)?.[1] ?? ""
  let claim: Claim | undefined = a.token?.claims
  for (const segment of inner.split("][")) {
    claim =
      typeof claim === "object" && claim !== null && !Array.isArray(claim)
        ? (claim as Record<string, Claim>)[segment]
        : undefined
  }
  return anyOf(claim)
}

function headerLines(name: string, { http }: Attributes): readonly string[] {
  if (http === undefined) return []
  const { host, path, query } = http
  if (name === "host" || name === ":authority") return host === undefined ? [] : [host]
  return name === ":path" ? [path + query] : (http.headers.get(name) ?? [])
}

function both(values: Values, notValues: Values, test: (value: string) => boolean): boolean {
  const positive = values === undefined || values.length === 0 || values.some(test)
  const negative = notValues === undefined || notValues.length === 0 || !notValues.some(test)
  return positive && negative
}

function text(pattern: string, value: string, emptyIsPresent: boolean): boolean {
  if (pattern === "*") return emptyIsPresent || value.length > 0
  if (pattern[0] === "*") return value.slice(-(pattern.length - 1)) === pattern.slice(1)
  if (pattern[pattern.length - 1] === "*") return value.slice(0, pattern.length - 1) === pattern.slice(0, -1)
  return value === pattern
}

/**
 * `name.`, `name.:port` and `name.:port*` without the dot; a lone dot or one after a star does not belong to a name.
 */
function undotted(host: string): string {
  const [name = "", ...ports] = host.split(":")
  const isPort = ports.length === 0 || (ports.length === 1 && /^[0-9]*[*]?$/.test(ports[0] ?? ""))
  const dotted = name.length > 1 && name.endsWith(".") && name !== "*."
  return isPort && dotted ? [name.slice(0, -1), ...ports].join(":") : host
}

const escaped = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

function path(pattern: string, value: string): boolean {
  if (pattern === "/*" || pattern === "/{**}") return true
  if (!pattern.includes("{*}") && !pattern.includes("{**}")) return text(pattern, value, false)
  const expression = pattern
    .split(/(\{\*\*?\})/)
    .map(piece => (piece === "{*}" ? "[^/]+" : piece === "{**}" ? ".*" : escaped(piece)))
    .join("")
  return new RegExp(`^${expression}$`, "s").test(value)
}

/** As Istio's control plane translates a template for Envoy. */
function istioPath(pattern: string, value: string): boolean {
  if (!pattern.includes("{*}") && !pattern.includes("{**}")) return text(pattern, value, false)
  const expression = escaped(pattern)
    .replaceAll("\\{\\*\\*\\}", "[a-zA-Z0-9-._~%!$&'()+,;:@=/*]*")
    .replaceAll("\\{\\*\\}", "[a-zA-Z0-9-._~%!$&'()+,;:@=*]+")
  return new RegExp(`^${expression}$`, "s").test(value)
}

const isIstio = ({ mesh }: Known): boolean => mesh.dialect === "istio"

function principal(value: string, { peer }: Attributes, known: Known): boolean {
  if (peer === undefined) return false
  const domains = [known.mesh.trustDomain, ...known.mesh.trustDomainAliases]
  const [domain, ...rest] = value.split("/")
  const ours = rest.length === 4 && (domain === "cluster.local" || domains.includes(domain ?? ""))
  const written = ours ? domains.map(known => [known, ...rest].join("/")) : [value]
  return written.some(pattern => text(pattern, peer.uri.replace("spiffe://", ""), false))
}

function peerNamespace(value: string, { peer }: Attributes, known: Known): boolean {
  if (peer === undefined) return false
  const name = value.split("*").map(escaped).join(".*")
  return isIstio(known) ? new RegExp(`^.*/ns/${name}/.*$`).test(peer.uri) : new RegExp(`^${name}$`).test(peer.namespace)
}

function serviceAccount(value: string, namespace: string, { peer }: Attributes): boolean {
  const qualified = value.includes("/") ? value : `${namespace}/${value}`
  return peer !== undefined && qualified === `${peer.namespace}/${peer.serviceAccount}`
}

function trustDomain(value: string, { peer }: Attributes, known: Known): boolean {
  const domains = [known.mesh.trustDomain, ...known.mesh.trustDomainAliases]
  const written = domains.includes(value) ? domains : [value]
  return peer !== undefined && written.some(pattern => text(pattern, peer.trustDomain, false))
}

function inBlock(value: string, address: IpAddress): boolean {
  const block = parseCidr(value)
  if (block === undefined || block.address.family !== address.family) return false
  const bits = ({ family, words }: IpAddress): string =>
    words
      .map(word => word.toString(2).padStart(32, "0"))
      .join("")
      .slice(family === 4 ? 96 : 0)
  return bits(block.address).slice(0, block.bits) === bits(address).slice(0, block.bits)
}

function requestPrincipal(value: string, { token }: Attributes, known: Known): boolean {
  const issuers = isIstio(known) ? [] : known.issuers
  const { issuer, subject } = token ?? {}
  if (issuer === undefined || subject === undefined) return false
  const slash = value.lastIndexOf("/")
  const [iss, sub] = slash < 0 ? [value, ""] : [value.slice(0, slash), value.slice(slash + 1)]
  if (value === "*") return issuer !== "" && subject !== ""
  if (value.startsWith("*")) {
    if (slash < 0) return issuer !== "" && text(value, subject, false)
    return text(iss, issuer, false) && subject === sub
  }
  if (value.endsWith("*")) {
    if (slash < 0) return text(value, issuer, false) && subject !== ""
    return issuer === iss && text(sub, subject, false)
  }
  const fitting = issuers.filter(known => value.startsWith(`${known}/`)).sort((a, b) => b.length - a.length)
  if (fitting.length > 0) return issuer === fitting[0] && `${issuer}/${subject}` === value
  return issuer === iss && subject === sub
}
