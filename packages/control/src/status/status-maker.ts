// SPDX-License-Identifier: Apache-2.0
// Computes the current status of one entry from directory, ledger and key sets.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { JwtRule, MeshService, PeerAuthentication, RequestAuthentication, Status } from "@merlon/policy/resources"
import { keySetId } from "@merlon/policy/tokens"
import type { MeshMembers } from "../admission/mesh-members.js"
import { type Enforcer, enforcerOf, type ProxyLedger, recordOf } from "../distribution/ledger.js"
import type { KeySets } from "../keysets/key-sets.js"
import { isSecurityPolicy } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { guestHosts } from "../routes/host-governance.js"
import { scopeOf } from "../routes/route-context.js"
import type { ConditionInputs, Reach } from "./condition-inputs.js"
import { statusOf } from "./conditions.js"
import { EnforcementTally } from "./enforcement.js"
import { expectedVersions } from "./expected-versions.js"
import { governedByOthers, meshServiceReach } from "./mesh-service-reach.js"
import { nearestLabels } from "./nearest-labels.js"
import type { PolicyEntries, PolicyEntry } from "./policy-entry.js"
import { NO_TARGETS, targetsNamed, targetsOf } from "./service-targets.js"
import type { MeshServiceClients, PolicyReach } from "./status-inputs.js"
import { supersessionOf } from "./supersession.js"

export interface StatusSources {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
  readonly directory: MeshDirectory
  readonly ledger: ProxyLedger
  readonly keySets: KeySets
  readonly reach: PolicyReach
  readonly clients: MeshServiceClients | undefined
  readonly members: MeshMembers
}

const NO_WORKLOADS = {
  workloads: 0,
  unproxied: [],
  outside: [],
  bypassable: [],
  udp: [],
  pending: 0,
  nearest: undefined,
  missing: [],
  targets: NO_TARGETS,
} as const

export function makeStatus(
  entry: PolicyEntry,
  entries: PolicyEntries,
  sources: StatusSources,
  now: number,
  previous: Status | undefined,
): Status {
  const { document, kind, namespace, name, errors, object } = entry
  const { mesh } = sources
  const { workloads, missing } = workloadsOf(entry, sources)
  const reach = reachOf(entry, workloads, missing, sources)
  entry.tally ??= tallyOf(entry, workloads, sources)
  const inputs: ConditionInputs = {
    document,
    kind,
    namespace,
    generation: object.metadata.generation,
    errors,
    mesh,
    reach,
    enforcement: entry.tally.count(),
    clients: document?.kind === "MeshService" ? sources.clients?.count(namespace, name) : undefined,
    governedByOthers:
      document?.kind === "MeshService"
        ? governedByOthers(document, meshServicesBeside(entry, entries), scopeOf(sources))
        : [],
    guestHosts: document?.kind === "MeshService" ? guestHosts(document, scopeOf(sources)) : [],
    ...keysOf(document?.kind === "RequestAuthentication" ? document : undefined, sources.keySets),
    superseded:
      document?.kind === "PeerAuthentication"
        ? supersessionOf(document, neighboursOf(namespace, entries), workloads, mesh)
        : undefined,
    now,
    previous,
  }
  return statusOf(inputs)
}

interface Selected {
  readonly workloads: readonly MeshWorkload[]
  readonly missing: readonly string[]
}

function workloadsOf(entry: PolicyEntry, { directory, reach, clusterDomain }: StatusSources): Selected {
  const { document, namespace, name } = entry
  if (document === undefined) return { workloads: [], missing: [] }
  if (document.kind === "MeshService") {
    const { workloads, missing, hosts } = meshServiceReach(document, directory, clusterDomain)
    entry.hosts = hosts
    return { workloads: [...workloads.values()], missing }
  }
  if (!isSecurityPolicy(document)) return { workloads: [], missing: [] }
  // The selection may still contain a workload that was deleted.
  const selected = [...reach.selectedBy(document.kind, namespace, name)]
  return { workloads: selected.flatMap(key => directory.workloads.get(key) ?? []), missing: [] }
}

function reachOf(
  { document, namespace }: PolicyEntry,
  workloads: readonly MeshWorkload[],
  missing: readonly string[],
  { directory, mesh, ledger, clusterDomain, members }: StatusSources,
): Reach {
  if (document === undefined) return NO_WORKLOADS
  if (document.kind === "MeshService") return { ...NO_WORKLOADS, workloads: workloads.length, missing }
  const authorizers = workloads.filter(
    ({ key, enforcer }) => enforcerOf(ledger.proxies.get(key), enforcer) === "authorizer",
  )
  const targets = targetsOf(document, authorizers, directory, { clusterDomain, names: mesh.names })
  if (workloads.length > 0) {
    const serving = workloads.filter(workload => mayServe(workload, ledger))
    const bare = serving.filter(({ proxied }) => !proxied)
    return {
      ...NO_WORKLOADS,
      targets,
      workloads: workloads.length,
      unproxied: bare.filter(workload => members.isMember(workload)).map(({ key }) => key),
      outside: bare.filter(workload => !members.isMember(workload)).map(({ key }) => key),
      bypassable: serving.flatMap(({ key, proxied, bypass }) =>
        proxied && bypass !== undefined ? [{ workload: key, because: bypass }] : [],
      ),
      udp: workloads.filter(({ proxied, udpPorts }) => proxied && udpPorts.length > 0),
      pending: workloads.length - serving.length,
    }
  }
  if (targetsNamed(document) !== undefined) return { ...NO_WORKLOADS, targets }
  const labels = document.spec.selector?.matchLabels ?? {}
  if (Object.keys(labels).length === 0) return NO_WORKLOADS
  const scope = namespace === mesh.names.rootNamespace ? undefined : namespace
  return { ...NO_WORKLOADS, nearest: nearestLabels(labels, directory.select({}, scope)) }
}

/** A Pod that has not started cannot serve; if its proxy is connected, it has started, whatever its status says. */
export function mayServe({ started, key, uid }: MeshWorkload, ledger: ProxyLedger): boolean {
  return started || recordOf(ledger, key, uid) !== undefined
}

/** Counts which proxies enforce it now. */
export function tallyNow(entry: PolicyEntry, sources: StatusSources): EnforcementTally {
  return tallyOf(entry, workloadsOf(entry, sources).workloads, sources)
}

function tallyOf(
  { document }: PolicyEntry,
  workloads: readonly MeshWorkload[],
  sources: StatusSources,
): EnforcementTally {
  if (document === undefined || !isSecurityPolicy(document)) return new EnforcementTally(new Map(), [], () => undefined)
  const { directory, ledger, keySets, mesh } = sources
  const expected = expectedVersions(document, mesh.names, id => keySets.get(id)?.jwks)
  const proxied = workloads.filter(workload => workload.proxied && mayServe(workload, ledger)).map(({ key }) => key)
  const declared = (key: string): Enforcer | undefined => directory.workloads.get(key)?.enforcer
  return new EnforcementTally(
    expected,
    proxied,
    key => recordOf(ledger, key, directory.workloads.get(key)?.uid),
    declared,
  )
}

function keysOf(
  document: RequestAuthentication | undefined,
  keySets: KeySets,
): Pick<ConditionInputs, "keySets" | "inlineKeySets"> {
  const rules: readonly JwtRule[] = document?.spec.jwtRules ?? []
  const fetched = new Map<string, string>()
  for (const rule of rules) {
    if (rule.jwks === undefined) fetched.set(keySetId(rule), rule.issuer ?? rule.jwksUri ?? "")
  }
  return {
    keySets: [...fetched].map(([id, issuer]) => ({ issuer, state: keySets.get(id) })),
    inlineKeySets: rules.filter(({ jwks }) => jwks !== undefined).length,
  }
}

function* neighboursOf(namespace: string, entries: PolicyEntries): Iterable<PeerAuthentication> {
  for (const { inForce } of entries.inNamespace(namespace)) if (inForce?.kind === "PeerAuthentication") yield inForce
}

function* meshServicesBeside({ governs }: PolicyEntry, entries: PolicyEntries): Iterable<MeshService> {
  for (const { inForce } of entries.governing(governs)) if (inForce?.kind === "MeshService") yield inForce
}
