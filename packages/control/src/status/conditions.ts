// SPDX-License-Identifier: Apache-2.0
// A resource's status: conditions made of plain values, each with one sentence. Times in them are absolute, so that the
// status of an unchanged resource stays the same text and is not written again.
//
// `Enforced` of a policy without proxies is False, not vacuously True: a pipeline that waits for it needs to know that
// something is protected, and a selector without workloads is most often a mistake. `Enforced` of a MeshService without
// connected clients is True: every client gets the routes on request, so nothing is pending.

import { describe, type PolicyDocument, type Status, type StatusCondition } from "@merlon/policy/resources"
import { isShadow } from "@merlon/policy/selection"
import { oneLine, someOf } from "../observe/one-line.js"
import type { ConditionInputs, ConditionValue } from "./condition-inputs.js"
import type { EnforcementCount } from "./enforcement.js"
import { jwksReady } from "./jwks-condition.js"
import { ready } from "./readiness.js"
import { NO_TARGETS, targetErrors, targetsNamed } from "./service-targets.js"
import { unjudgedPorts } from "./unjudged-ports.js"

const CONDITION_TYPES = [
  "Accepted",
  "MatchesWorkloads",
  "JwksReady",
  "Superseded",
  "UnjudgedPorts",
  "Enforced",
  "Ready",
  "Stalled",
] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

export function statusOf(inputs: ConditionInputs): Status {
  const { kind, generation, previous } = inputs
  const parts = {
    accepted: accepted(inputs),
    matches: matchesWorkloads(inputs),
    enforced: kind === "MeshService" ? routed(inputs) : enforced(inputs),
  }
  const values: [ConditionType, ConditionValue][] = [
    ["Accepted", parts.accepted],
    ["MatchesWorkloads", parts.matches],
  ]
  if (kind === "RequestAuthentication") values.push(["JwksReady", jwksReady(inputs)])
  if (kind === "PeerAuthentication") values.push(["Superseded", superseded(inputs)])
  const unjudged = unjudgedPorts(inputs)
  if (unjudged !== undefined) values.push(["UnjudgedPorts", unjudged])
  values.push(["Enforced", parts.enforced], ["Ready", ready(inputs, parts)])
  const stuck = Object.values(parts).find(({ reason }) => STUCK.has(reason))
  // Written only while it is true, as in kstatus: tools that wait for `Ready` then stop waiting.
  if (stuck !== undefined) values.push(["Stalled", { ...stuck, status: "True" }])
  const own = values.map(([type, words]) => condition(type, words, inputs))
  // Conditions of other writers are kept.
  const foreign = (previous?.conditions ?? []).filter(({ type }) => !CONDITION_TYPES.some(known => known === type))
  return { ...(generation === undefined ? {} : { observedGeneration: generation }), conditions: [...own, ...foreign] }
}

/** Reasons that end only after a change of the document or of a proxy. */
const STUCK: ReadonlySet<string> = new Set(["Invalid", "IgnoredSelector", "Rejected"])

function condition(
  type: string,
  { status, reason, message }: ConditionValue,
  { generation, now, previous }: ConditionInputs,
): StatusCondition {
  const before = previous?.conditions?.find(other => other.type === type)
  const moved = before?.status !== status
  return {
    type,
    status,
    reason,
    message: oneLine(message, 1_000),
    lastTransitionTime: moved ? `${new Date(now).toISOString().slice(0, 19)}Z` : before.lastTransitionTime,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  }
}

function accepted({ document, errors, mesh, reach, guestHosts }: ConditionInputs): ConditionValue {
  if (document === undefined) {
    const message = `not valid: ${someOf(errors.slice(0, 3), errors.length, 3)}`
    return { status: "False", reason: "Invalid", message }
  }
  const lost = targetsNamed(document)?.length ?? 0
  if (lost > 0 && reach.targets.absent.length === lost) {
    // The reason that policies of the Gateway API use.
    const [error = ""] = targetErrors(reach.targets, document.metadata.namespace)
    const message = `${error}; create it, or name another; until then the policy applies to no workload`
    return { status: "False", reason: "TargetNotFound", message }
  }
  const message = `${describe(document, mesh)}, on ${counted(reach.workloads, "workload")} ${scopeOf(document, mesh.names.rootNamespace)}`
  if (guestHosts.length === 0) return { status: "True", reason: "Valid", message }
  return { status: "True", reason: "OwnCallersOnly", message: `${ownCallersOnly(document, guestHosts)}; ${message}` }
}

/** Readers of a status must not assume that callers of other namespaces are affected. */
function ownCallersOnly({ metadata: { namespace } }: PolicyDocument, hosts: readonly string[]): string {
  const named = someOf(hosts.map(host => `\`${oneLine(host)}\``))
  return `affects only callers in \`${namespace}\`, because ${named} is not in that namespace`
}

function scopeOf({ metadata: { namespace }, kind }: PolicyDocument, rootNamespace: string): string {
  if (kind === "MeshService") return "behind its hosts"
  return namespace === rootNamespace ? "of the mesh" : `in \`${namespace}\``
}

function matchesWorkloads({ document, reach, mesh }: ConditionInputs): ConditionValue {
  if (document === undefined)
    return { status: "Unknown", reason: "Invalid", message: "an invalid document selects nothing" }
  if (reach.workloads > 0) {
    const bare = reach.unproxied.length
    const without = bare === 0 ? "" : `; ${bare} without an xserver, so not enforced there: ${someOf(reach.unproxied)}`
    const { outside } = reach
    const beyond =
      outside.length === 0 ? "" : `; ${outside.length} not in the mesh, so not enforced there: ${someOf(outside)}`
    const lost = reach.missing.length === 0 ? "" : `; none behind ${someOf(reach.missing)}`
    const pending = reach.pending === 0 ? "" : `; ${reach.pending} of them not started`
    const errors = targetErrors(reach.targets, document.metadata.namespace).map(error => `; ${error}`)
    const message = `selects ${counted(reach.workloads, "workload")}${pending}${without}${beyond}${lost}${errors.join("")}`
    return { status: "True", reason: "Selected", message }
  }
  if (document.kind === "MeshService") {
    return { status: "False", reason: "NoWorkloads", message: `no workload is behind ${someOf(reach.missing)}` }
  }
  if (targetsNamed(document) !== undefined) {
    const message = targetErrors(reach.targets, document.metadata.namespace).join("; ")
    return { status: "False", reason: "NoWorkloads", message }
  }
  const labels = Object.entries(document.spec.selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
  const place = scopeOf(document, mesh.names.rootNamespace)
  if (labels.length === 0) return { status: "False", reason: "NoWorkloads", message: `no workload found ${place}` }
  if (document.kind === "PeerAuthentication" && document.metadata.namespace === mesh.names.rootNamespace) {
    const message = "a selector in the root namespace is ignored; move the policy into the workload's namespace"
    return { status: "False", reason: "IgnoredSelector", message }
  }
  const hint = reach.nearest === undefined ? "" : `; the closest match has ${reach.nearest}`
  return { status: "False", reason: "NoWorkloads", message: `no workload ${place} has \`${labels.join(",")}\`${hint}` }
}

function superseded({ document, mesh, reach, superseded: found }: ConditionInputs): ConditionValue {
  if (document === undefined)
    return { status: "Unknown", reason: "Invalid", message: "an invalid document is not evaluated" }
  if (document.kind === "PeerAuthentication" && isShadow(document, mesh)) {
    return { status: "False", reason: "Shadow", message: "in shadow mode: it is evaluated but not enforced" }
  }
  if (found === undefined)
    return { status: "False", reason: "InForce", message: "no older policy of its scope takes precedence" }
  const { supersededBy, reason } = found.overridden
  if (supersededBy === undefined) return { status: "True", reason: "IgnoredSelector", message: reason }
  const winner = `\`${supersededBy.namespace}/${supersededBy.name}\``
  const partly = found.workloads < reach.workloads
  const where = partly ? `on ${found.workloads} of ${counted(reach.workloads, "workload")} ` : ""
  const message = `${where}${winner} applies instead: ${reason}`
  return { status: "True", reason: partly ? "PartlySuperseded" : "Superseded", message }
}

function enforced({ document, reach, generation, mesh, enforcement, keySets }: ConditionInputs): ConditionValue {
  if (document === undefined) {
    const message =
      "an invalid document is not sent to proxies; its last valid version stays enforced, or its strictest reading after a restart"
    return { status: "False", reason: "Invalid", message }
  }
  if (reach.workloads === 0) {
    return { status: "False", reason: "NoWorkloads", message: "not enforced: it selects no workload" }
  }
  const { proxies, enforcing, waiting, disconnected, rejected, rejection } = enforcement
  if (proxies === 0 && reach.pending === reach.workloads) {
    const message = "not enforced: no workload that it selects has started"
    return { status: "False", reason: "NotStarted", message }
  }
  if (proxies === 0) {
    const message = "not enforced: no workload that it selects has an xserver"
    return { status: "False", reason: "NoProxies", message }
  }
  const shadow = document.kind !== "MeshService" && isShadow(document, mesh)
  const verb = shadow ? "in shadow mode (not enforced): evaluated" : "enforced"
  const at = generation === undefined ? "" : ` at generation ${generation}`
  const progress = `${verb} by ${enforcers(enforcement)}${at}`
  // Until the first key set of an issuer arrives, its valid tokens are rejected, so the policy is not yet in effect as
  // written.
  const fetching = keySets.filter(({ state }) => state?.jwks === undefined && state?.error === undefined)
  if (enforcing === proxies && fetching.length > 0) {
    const issuers = someOf(fetching.map(({ issuer }) => `\`${oneLine(issuer)}\``))
    return { status: "False", reason: "FetchingKeys", message: `${progress}; the keys of ${issuers} are being fetched` }
  }
  // A target without an authorizer is not protected, whatever the other targets have.
  if (enforcing === proxies && reach.targets.unserved.length > 0) {
    const unserved = targetErrors({ ...NO_TARGETS, unserved: reach.targets.unserved }, document.metadata.namespace)
    return { status: "False", reason: "NoAuthorizer", message: [progress, ...unserved].join("; ") }
  }
  if (enforcing === proxies) return { status: "True", reason: shadow ? "Shadow" : "AllProxies", message: progress }
  const rest = [
    rejection === undefined ? "" : `\`${rejection.proxy}\` rejected it: ${oneLine(rejection.message)}`,
    rejection !== undefined && rejected.length > 1 ? `so did ${someOf(rejected.slice(1))}` : "",
    waiting.length > 0 ? `waiting for ${someOf(waiting)}` : "",
    disconnected.length > 0 ? `not connected: ${someOf(disconnected)}` : "",
  ]
  const reason = rejected.length > 0 ? "Rejected" : waiting.length > 0 ? "Waiting" : "NotConnected"
  return { status: "False", reason, message: [progress, ...rest.filter(part => part !== "")].join("; ") }
}

/** Counts proxies and authorizers separately: for a gateway, the authorizers matter. */
function enforcers({ proxies, enforcing, authorizers }: EnforcementCount): string {
  const others = { all: proxies - authorizers.all, enforcing: enforcing - authorizers.enforcing }
  const kinds = [
    others.all === 0 ? "" : `${others.enforcing} of ${counted(others.all, "proxy", "proxies")}`,
    authorizers.all === 0 ? "" : `${authorizers.enforcing} of ${counted(authorizers.all, "authorizer")}`,
  ]
  return kinds.filter(kind => kind !== "").join(" and ")
}

function routed({ document, generation, clients, governedByOthers, guestHosts }: ConditionInputs): ConditionValue {
  if (document === undefined)
    return { status: "False", reason: "Invalid", message: "an invalid document is not sent to proxies" }
  const others = governedByOthers.map(({ host, by }) => `\`${by}\` governs \`${host}\``)
  if (document.kind === "MeshService" && others.length >= document.spec.hosts.length) {
    return { status: "False", reason: "Superseded", message: `not in use: ${someOf(others)}` }
  }
  const exceptions = [
    others.length === 0 ? "" : `; except that ${someOf(others)}`,
    document.kind !== "MeshService" || guestHosts.length === 0 ? "" : `; ${ownCallersOnly(document, guestHosts)}`,
  ]
  const except = exceptions.join("")
  if (clients === undefined || clients.clients === 0) {
    const message = `no connected client uses its hosts; clients that do will get this version${except}`
    return { status: "True", reason: "NoClients", message }
  }
  const at = generation === undefined ? "" : ` at generation ${generation}`
  const progress = `in use by ${clients.acknowledged} of ${counted(clients.clients, "client")}${at}${except}`
  if (clients.acknowledged === clients.clients) return { status: "True", reason: "AllClients", message: progress }
  const { rejection, waiting } = clients
  if (rejection !== undefined) {
    const message = `${progress}; \`${rejection.client}\` rejected it: ${oneLine(rejection.message)}`
    return { status: "False", reason: "Rejected", message }
  }
  const message = `${progress}; waiting for ${someOf(waiting, clients.clients - clients.acknowledged)}`
  return { status: "False", reason: "Waiting", message }
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
