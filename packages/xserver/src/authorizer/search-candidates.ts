// SPDX-License-Identifier: Apache-2.0
// What an AuthZEN search may find: the callers or paths that policies name. A list that lacks an allowed one would
// mislead, so a proof first shows that no other caller or path can be allowed. Pure.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { reachOf, Witness } from "@merlon/policy/proof"
import type { AuthorizationPolicy, PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import type { Evaluation } from "./authzen.js"

/** The current policies. */
export interface SearchedPolicies {
  readonly policies: readonly PolicyDocument[]
  readonly workload: Workload
  readonly mesh: MeshConfig
}

type Rule = Parameters<typeof reachOf>[3]
type Source = NonNullable<NonNullable<NonNullable<Rule["from"]>[number]["source"]>>

export type SearchedEntity = "subject" | "resource"

export type Candidates = { readonly values: readonly string[] } | { readonly unlisted: string }

const MAX_CANDIDATES = 1_000
/** Other questions wait while a proof runs. */
const PROOF_MS = 100
const PROOF_STEPS = 1_000_000
const WILDCARD = /[*{]/

/**
 * Sorted SPIFFE IDs, or sorted paths. `asked`: the request, with any subject or any path. `nowMs`: milliseconds since
 * the epoch.
 */
export function candidatesOf(
  entity: SearchedEntity,
  asked: Evaluation & { readonly port: number },
  { policies, workload, mesh }: SearchedPolicies,
  reach: typeof reachOf,
  nowMs: () => number,
): Candidates {
  // The mTLS mode applies to the gateway's connection, which a search does not cover.
  const documents = policies.filter(({ kind }) => kind !== "PeerAuthentication")
  const named = documents.flatMap(document => (document.kind === "AuthorizationPolicy" ? [document] : []))
  const callers = callersNamed(named, mesh)
  const values = entity === "subject" ? callers.principals : pathsNamed(named)
  if (values.length > MAX_CANDIDATES) return { unlisted: `policies name more than ${MAX_CANDIDATES} candidates` }
  const others =
    entity === "subject"
      ? questionOf(asked, { principals: ["*"], trustDomains: callers.domains, notPrincipals: values }, undefined)
      : questionOf(asked, sourceOf(asked), values)
  const options = {
    now: Math.floor(nowMs() / 1_000),
    limits: { steps: PROOF_STEPS, deadline: nowMs() + PROOF_MS, now: nowMs },
  }
  const { ways, undecided } = reach(documents, workload, mesh, others, options)
  const [way] = ways
  if (way !== undefined) return { unlisted: unnamed(entity, way.witness) }
  if (undecided !== undefined) return { unlisted: `undecided whether there are others: ${undecided}` }
  return { values: entity === "subject" ? values.map(principal => `spiffe://${principal}`) : values }
}

/**
 * A rule that covers every request that the evaluation may describe. It leaves out values that are not compared
 * literally, and headers that token rules may change.
 */
function questionOf(
  { method, target, host, headers, port }: Evaluation & { readonly port: number },
  source: Source,
  notPaths: readonly string[] | undefined,
): Rule {
  const hasToken = headers.size > 0 || target.includes("?")
  const from = { ...source, ...(!hasToken && { notRequestPrincipals: ["*"] }) }
  const [path = ""] = target.split("?")
  const operation = {
    ports: [String(port)],
    ...literally("methods", method),
    ...literally("hosts", host),
    ...(notPaths === undefined ? literally("paths", path) : notPaths.length > 0 && { notPaths }),
  }
  return { ...(Object.keys(from).length > 0 && { from: [{ source: from }] }), to: [{ operation }] }
}

function sourceOf({ peer }: Evaluation): Source {
  return peer === undefined ? { notPrincipals: ["*"] } : { principals: [peer.principal] }
}

function literally(field: "methods" | "hosts" | "paths", value: string) {
  return WILDCARD.test(value) || value === "" ? {} : { [field]: [value] }
}

function callersNamed(policies: readonly AuthorizationPolicy[], { trustDomain, trustDomainAliases }: MeshConfig) {
  const own = [trustDomain, ...trustDomainAliases]
  const principals = new Set<string>()
  const accounts = new Set<string>()
  for (const { metadata, spec } of policies) {
    for (const { from = [], when = [] } of spec.rules ?? []) {
      const valuesOf = (key: string) =>
        when.flatMap(condition => (condition.key === key ? (condition.values ?? []) : []))
      const inSources = (field: "principals" | "serviceAccounts") => from.flatMap(({ source }) => source?.[field] ?? [])
      for (const principal of [...inSources("principals"), ...valuesOf("source.principal")]) principals.add(principal)
      for (const account of [...inSources("serviceAccounts"), ...valuesOf("source.serviceAccount")])
        accounts.add(account.includes("/") ? account : `${metadata.namespace}/${account}`)
    }
  }
  const literal = [...principals].filter(principal => !WILDCARD.test(principal))
  const domainOf = (principal: string) => principal.split("/")[0] ?? ""
  const domains = [...new Set([...own, ...literal.map(domainOf)])].filter(domain => domain !== "")
  const inDomain = (domain: string, principal: string) => `${domain}${principal.slice(domainOf(principal).length)}`
  const named = [
    // The mesh's trust domain and its aliases are interchangeable.
    ...literal.flatMap(principal =>
      own.includes(domainOf(principal)) ? own.map(domain => inDomain(domain, principal)) : [principal],
    ),
    ...[...accounts].flatMap(account => {
      const [namespace = "", name = ""] = account.split("/")
      return domains.map(domain => `${domain}/ns/${namespace}/sa/${name}`)
    }),
  ]
  return { principals: sorted(named), domains }
}

function pathsNamed(policies: readonly AuthorizationPolicy[]): readonly string[] {
  const paths = policies.flatMap(({ spec }) =>
    (spec.rules ?? []).flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation?.paths ?? [])),
  )
  return sorted(paths.filter(path => !WILDCARD.test(path)))
}

function sorted(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort()
}

function unnamed(entity: SearchedEntity, { principal, path = "/" }: Witness): string {
  const example = entity === "subject" ? `spiffe://${principal ?? ""}` : path
  const candidates = entity === "subject" ? "callers" : "paths"
  return `policies may allow ${candidates} that they do not name, such as \`${example}\``
}
