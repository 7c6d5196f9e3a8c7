// SPDX-License-Identifier: Apache-2.0
// A report on one workload: its identity, Pods, the mTLS mode of each port with the reason, and the enforced policies
// in the order of evaluation. Counts and proofs are separate queries with their own permissions.

import type { PolicyRef } from "@merlon/policy/authorization"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { DocumentsByNamespace } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { byAge, isShadow, type ModeResolution, PeerModes } from "@merlon/policy/selection"
import type { ProxyReport } from "../observe/proxy-report.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { workloadName } from "./workload-names.js"

export interface ReportedPod {
  readonly name: string
  readonly address?: string
  readonly ready: boolean
  /** Whether an xserver handles its inbound connections, and what can bypass that. */
  readonly proxied: boolean
  readonly bypass?: string
  /** Declared UDP ports, which no policy covers, and what happens to datagrams to them. Absent if there are none. */
  readonly udp?: { readonly ports: readonly number[]; readonly handling: MeshWorkload["udp"] }
  readonly leaving?: true
  /** Absent while its proxy is not connected. */
  readonly proxy?: Omit<ProxyReport, "key">
}

export interface ReportedPort {
  readonly port: number
  readonly protocol: string
  readonly mode: ModeResolution["mode"]
  /** The reason, in one sentence. */
  readonly why: string
  /** The policy that sets the mode; absent if the default applies. */
  readonly policy?: string
  readonly scope?: "mesh" | "namespace" | "workload"
  /** Policies that select the workload and are overridden. */
  readonly losers: readonly { readonly policy: string; readonly why: string }[]
  /** What the mode would be if shadow policies were enforced. */
  readonly shadow?: ModeResolution["mode"]
}

export type ReportedStage = "transport" | "token" | "custom" | "audit" | "deny" | "allow"

export interface ReportedPolicy {
  /** The stage in which it is evaluated. */
  readonly stage: ReportedStage
  readonly kind: string
  readonly policy: string
  readonly enforcement: "Enforce" | "Shadow"
  readonly rules: number
}

export interface WorkloadReport {
  /** `namespace/name` under which its calls are recorded. */
  readonly workload: string
  readonly identity: string
  readonly labels: { readonly [key: string]: string }
  readonly services: readonly string[]
  readonly pods: readonly ReportedPod[]
  /** Names of Pods with other policies in effect than reported here. Query them by their own names. */
  readonly otherwise: readonly string[]
  readonly ports: readonly ReportedPort[]
  readonly policies: readonly ReportedPolicy[]
}

export interface WorkloadReportSources {
  readonly workloads: Iterable<MeshWorkload>
  /** The policies in effect. */
  readonly documents: DocumentsByNamespace
  readonly proxies: ReadonlyMap<string, ProxyReport>
  readonly mesh: MeshConfig
}

export interface NamedReport extends WorkloadReport {
  readonly namespace: string
  readonly name: string
}

/** Reports on every workload of the namespace, or of all namespaces. */
export function workloadReports(sources: WorkloadReportSources, namespace: string | undefined): readonly NamedReport[] {
  return reportsOf(near(sources, namespace), sources)
}

/**
 * Workloads that a name can mean: the one that runs Pods under this name, else a single Pod, else those that a Service
 * selects.
 */
export function workloadReportsCalled(
  name: string,
  sources: WorkloadReportSources,
  namespace: string | undefined,
): readonly NamedReport[] {
  const all = near(sources, namespace)
  const run = all.filter(one => workloadName(one) === `${one.namespace}/${name}`)
  if (run.length > 0) return reportsOf(run, sources)
  const pods = all.filter(one => one.name === name)
  if (pods.length > 0) return pods.map(pod => named(pod.key, report([pod], sources)))
  return reportsOf(
    all.filter(({ services }) => services.includes(name)),
    sources,
  )
}

function near({ workloads }: WorkloadReportSources, namespace: string | undefined): readonly MeshWorkload[] {
  return [...workloads].filter(one => namespace === undefined || one.namespace === namespace)
}

function reportsOf(pods: readonly MeshWorkload[], sources: WorkloadReportSources): readonly NamedReport[] {
  const byName = new Map<string, MeshWorkload[]>()
  for (const pod of pods) {
    const name = workloadName(pod)
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [pod])
    else known.push(pod)
  }
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => named(name, report(of, sources)))
}

function named(key: string, of: WorkloadReport): NamedReport {
  const slash = key.indexOf("/")
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1), ...of }
}

/** INVARIANT: at least one Pod. Reports a Pod that stays rather than one that is being deleted. */
function report(pods: readonly MeshWorkload[], { documents, proxies, mesh }: WorkloadReportSources): WorkloadReport {
  const sorted = [...pods].sort((a, b) => Number(a.leaving) - Number(b.leaving) || (a.key < b.key ? -1 : 1))
  const [first] = sorted
  if (first === undefined) throw new RangeError("a workload has at least one Pod")
  const selected = documents.selected(first)
  const modes = new PeerModes(documents.near(first), first, mesh)
  return {
    workload: workloadName(first),
    identity: `spiffe://${mesh.trustDomain}/ns/${first.namespace}/sa/${first.serviceAccount}`,
    labels: first.labels,
    services: first.services,
    pods: sorted.map(pod => podOf(pod, proxies.get(pod.key))),
    otherwise: sorted.filter(pod => documents.selected(pod).key !== selected.key).map(({ name }) => name),
    ports: first.ports.map(({ port, protocol }) => portOf(port, protocol, modes.resolve(port))),
    policies: policiesOf(selected.documents, mesh),
  }
}

function podOf(pod: MeshWorkload, proxy: ProxyReport | undefined): ReportedPod {
  const { name, ready, proxied, bypass, udpPorts, udp, leaving } = pod
  const [address] = pod.addresses
  const { key: _, ...reported } = proxy ?? { key: "" }
  return {
    ...{ name, ready, proxied },
    ...(address === undefined ? {} : { address }),
    ...(bypass === undefined ? {} : { bypass }),
    ...(udpPorts.length === 0 ? {} : { udp: { ports: udpPorts, handling: udp } }),
    ...(leaving ? { leaving } : {}),
    ...(proxy === undefined ? {} : { proxy: reported as Omit<ProxyReport, "key"> }), // everything except the key
  }
}

function portOf(port: number, protocol: string, resolution: ModeResolution): ReportedPort {
  const { mode, winner, losers, shadow } = resolution
  return {
    ...{ port, protocol, mode, why: whyOf(winner) },
    ...(winner === undefined ? {} : { policy: keyOf(winner.policy), scope: winner.scope }),
    losers: losers.map(({ policy, supersededBy, reason }) => ({
      policy: keyOf(policy),
      why: supersededBy === undefined ? reason : `${reason} (\`${keyOf(supersededBy)}\`)`,
    })),
    ...(shadow === undefined ? {} : { shadow }),
  }
}

const SCOPES = { mesh: "the mesh", namespace: "its namespace", workload: "the workload" } as const

function whyOf(winner: ModeResolution["winner"]): string {
  if (winner === undefined) return "the default: no PeerAuthentication sets it"
  const what = winner.port ? "this port" : SCOPES[winner.scope]
  return `\`${keyOf(winner.policy)}\` sets it for ${what}`
}

const STAGES: readonly ReportedStage[] = ["transport", "token", "custom", "audit", "deny", "allow"]

/** Within a stage the oldest comes first, as everywhere. */
function policiesOf(documents: readonly PolicyDocument[], mesh: MeshConfig): readonly ReportedPolicy[] {
  const placed = [...documents].sort(byAge).flatMap((document): readonly ReportedPolicy[] => {
    const stage = stageOf(document)
    if (stage === undefined || document.kind === "MeshService" || document.kind === "PolicyInvariant") return []
    const { kind, metadata } = document
    const enforcement = isShadow(document, mesh) ? "Shadow" : "Enforce"
    return [{ stage, kind, policy: keyOf(metadata), enforcement, rules: rulesIn(document) }]
  })
  return STAGES.flatMap(stage => placed.filter(one => one.stage === stage))
}

function stageOf(document: PolicyDocument): ReportedStage | undefined {
  switch (document.kind) {
    case "PeerAuthentication":
      return "transport"
    case "RequestAuthentication":
      return "token"
    case "AuthorizationPolicy":
      return ({ AUDIT: "audit", DENY: "deny", ALLOW: "allow", CUSTOM: "custom" } as const)[
        document.spec.action ?? "ALLOW"
      ]
    default:
      return undefined
  }
}

function rulesIn(document: PolicyDocument): number {
  if (document.kind === "AuthorizationPolicy") return document.spec.rules?.length ?? 0
  return document.kind === "RequestAuthentication" ? (document.spec.jwtRules?.length ?? 0) : 0
}

function keyOf({ namespace, name }: PolicyRef): string {
  return `${namespace}/${name}`
}
