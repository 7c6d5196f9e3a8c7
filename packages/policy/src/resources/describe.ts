// SPDX-License-Identifier: Apache-2.0
// Describes a policy in one plain sentence, for the resource's status and for lists. Long lists are shortened; the
// document has the full list.

import type { MeshConfig } from "../mesh/config.js"
import { isShadow } from "../selection/shadow.js"
import type { Condition, Operation, Rule, Source } from "./authorization-policy/definition.js"
import type {
  AuthorizationPolicy,
  MeshService,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
} from "./document.js"
import { shown } from "./document-error.js"
import type { Destination } from "./mesh-service/definition.js"
import type { JwtRule } from "./request-authentication/definition.js"

const MAX_LISTED = 3

export function describe(document: PolicyDocument, mesh: MeshConfig): string {
  const sentence = sentenceOf(document)
  return document.kind !== "MeshService" && isShadow(document, mesh)
    ? `observes without enforcing: ${sentence}`
    : sentence
}

function sentenceOf(document: PolicyDocument): string {
  switch (document.kind) {
    case "RequestAuthentication":
      return describeTokens(document)
    case "AuthorizationPolicy":
      return describeAuthorization(document)
    case "PeerAuthentication":
      return describePeers(document)
    case "PolicyInvariant":
      return describeInvariant(document)
    case "MeshService":
      return describeRoutes(document)
  }
}

function describeInvariant({ spec: { never = [], always = [] } }: PolicyInvariant): string {
  const named = (invariants: readonly { readonly name: string }[]) =>
    cut(quoted(invariants.map(({ name }) => name)), ", ")
  const parts = [
    ...(never.length === 0 ? [] : [`never allows ${named(never)}`]),
    ...(always.length === 0 ? [] : [`always allows ${named(always)}`]),
  ]
  return parts.join("; ")
}

function describeTokens({ spec: { jwtRules = [] } }: RequestAuthentication): string {
  if (jwtRules.length === 0) return "has no rules and checks no token"
  const required = jwtRules.filter(rule => rule.presence === "REQUIRED")
  const optional = jwtRules.filter(rule => rule.presence !== "REQUIRED")
  const parts: string[] = []
  if (required.length > 0) parts.push(`requires a JWT of ${either(required.map(issuerOf))}`)
  if (optional.length > 0)
    parts.push(`accepts a request with a JWT only if it is a valid one of ${either(optional.map(issuerOf))}`)
  return parts.join(" and ")
}

function issuerOf({ issuer, audiences = [] }: JwtRule): string {
  const name = issuer === undefined ? "any issuer its keys sign for" : `issuer \`${shown(issuer)}\``
  return audiences.length === 0 ? name : `${name} for ${either(quoted(audiences))}`
}

const VERBS = {
  ALLOW: ["allows", "nothing, so every request is denied unless another policy allows it"],
  DENY: ["denies", "nothing"],
  AUDIT: ["audits", "nothing"],
  CUSTOM: ["asks an external authorizer about", "nothing"],
} as const

function describeAuthorization({ spec: { action = "ALLOW", rules = [] } }: AuthorizationPolicy): string {
  const [verb, none] = VERBS[action]
  if (rules.length === 0) return `${verb} ${none}`
  if (rules.some(isUnconditional)) return `${verb} every request`
  return `${verb} ${cut(rules.map(describeRule), "; or ")}`
}

function isUnconditional(rule: Rule): boolean {
  return (rule.from ?? []).length === 0 && (rule.to ?? []).length === 0 && (rule.when ?? []).length === 0
}

function describeRule({ from = [], to = [], when = [] }: Rule): string {
  const what = to.length === 0 ? "any request" : either(to.map(({ operation }) => describeOperation(operation ?? {})))
  const who = from.length === 0 ? "" : ` from ${either(from.map(({ source }) => describeSource(source ?? {})))}`
  const conditions = when.length === 0 ? "" : ` when ${cut(when.map(describeCondition), " and ")}`
  return what + who + conditions
}

function describeOperation(operation: Operation): string {
  const { methods, notMethods, paths, notPaths, hosts, notHosts, ports, notPorts } = operation
  return words([
    methods && listOf(methods),
    notMethods && `any method but ${listOf(notMethods)}`,
    paths && `${paths.length > 1 ? "paths" : "path"} ${listOf(paths)}`,
    notPaths && `not path ${listOf(notPaths)}`,
    hosts && `on host ${listOf(hosts)}`,
    notHosts && `not on host ${listOf(notHosts)}`,
    ports && `at port ${listOf(ports)}`,
    notPorts && `not at port ${listOf(notPorts)}`,
  ])
}

function describeSource(source: Source): string {
  return words([
    source.principals && `principal ${listOf(source.principals)}`,
    source.notPrincipals && `any peer but ${listOf(source.notPrincipals)}`,
    source.requestPrincipals &&
      `${isAny(source.requestPrincipals) ? "a caller with any valid JWT" : `JWT principal ${listOf(source.requestPrincipals)}`}`,
    source.notRequestPrincipals &&
      `${isAny(source.notRequestPrincipals) ? "a caller without a valid JWT" : `any JWT principal but ${listOf(source.notRequestPrincipals)}`}`,
    source.namespaces && `namespace ${listOf(source.namespaces)}`,
    source.notNamespaces && `any namespace but ${listOf(source.notNamespaces)}`,
    source.serviceAccounts && `service account ${listOf(source.serviceAccounts)}`,
    source.notServiceAccounts && `any service account but ${listOf(source.notServiceAccounts)}`,
    source.trustDomains && `trust domain ${listOf(source.trustDomains)}`,
    source.notTrustDomains && `any trust domain but ${listOf(source.notTrustDomains)}`,
    source.ipBlocks && `address ${listOf(source.ipBlocks)}`,
    source.notIpBlocks && `any address but ${listOf(source.notIpBlocks)}`,
    source.remoteIpBlocks && `client address ${listOf(source.remoteIpBlocks)}`,
    source.notRemoteIpBlocks && `any client address but ${listOf(source.notRemoteIpBlocks)}`,
  ])
}

function describeCondition({ key, values = [], notValues = [] }: Condition): string {
  const parts: string[] = []
  if (values.length > 0) parts.push(`is ${listOf(values)}`)
  if (notValues.length > 0) parts.push(`is not ${listOf(notValues)}`)
  return `\`${shown(key)}\` ${parts.join(" and ")}`
}

const MODES = {
  UNSET: "inherits the mode of the wider scope",
  DISABLE: "takes plaintext only",
  PERMISSIVE: "takes mutual TLS and plaintext",
  STRICT: "requires mutual TLS",
} as const

function describePeers({ spec: { mtls, portLevelMtls = {} } }: PeerAuthentication): string {
  const ports = Object.entries(portLevelMtls).map(
    ([port, { mode }]) => `at port ${shown(port)} ${MODES[mode ?? "UNSET"]}`,
  )
  const general = MODES[mtls?.mode ?? "UNSET"]
  return ports.length === 0 ? general : `${general}; ${cut(ports, "; ")}`
}

function describeRoutes({ spec }: MeshService): string {
  const hosts = listOf(spec.hosts)
  const rules = spec.rules ?? []
  const destinations = (spec.routes ?? []).flatMap(route => route.service ?? [])
  const parts: string[] = []
  if (rules.length > 0)
    parts.push(`routes requests to ${hosts} by ${rules.length} ${rules.length === 1 ? "rule" : "rules"}`)
  if (destinations.length > 0)
    parts.push(
      `${rules.length > 0 ? "the rest" : `splits requests to ${hosts}`} over ${cut(destinations.map(shareOf), ", ")}`,
    )
  if (parts.length === 0) parts.push(`sends requests to ${hosts} where they are addressed`)
  const mode = spec.trafficPolicy?.tls?.mode
  if (mode !== undefined) parts.push(mode === "DUBBO_MUTUAL" ? "with mutual TLS" : "in plaintext")
  return parts.join(", ")
}

function shareOf({ host, name, weight }: Destination): string {
  return `\`${shown(name ?? host)}\`${weight === undefined ? "" : ` (${weight})`}`
}

function isAny(values: readonly string[]): boolean {
  return values.includes("*")
}

function quoted(values: readonly string[]): string[] {
  return values.map(value => `\`${shown(value)}\``)
}

function listOf(values: readonly string[]): string {
  return either(quoted(values))
}

function either(items: readonly string[]): string {
  return cut(items, " or ")
}

function cut(items: readonly string[], joint: string): string {
  const hidden = items.length - MAX_LISTED
  return hidden <= 0 ? items.join(joint) : `${items.slice(0, MAX_LISTED).join(joint)}${joint}${hidden} more`
}

function words(parts: readonly (string | undefined)[]): string {
  return parts.filter(part => part !== undefined).join(" ")
}
