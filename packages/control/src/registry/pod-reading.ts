// SPDX-License-Identifier: Apache-2.0
// The facts about a Pod that the mesh uses. Two Pods with equal facts are treated alike.

import { isIP } from "node:net"
import type { MeshNames } from "@merlon/policy/mesh"
import { ownerReferences } from "../kubernetes/owner-reference.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { type ApplicationPort, applicationPorts, hasXserver, isAuthorizer, isDeclared } from "./application-ports.js"
import { bypassOf } from "./bypass.js"
import { type Foreign, labelsOf, listOf, objectOf, textOf } from "./foreign.js"
import { listenAnnotation, listeningOn, parseListenPorts } from "./listen-ports.js"
import type { MeshWorkload } from "./mesh-workload.js"
import { NO_PROBES, type Probes, parseProbes } from "./probes.js"
import { udpHandling, udpPorts } from "./udp.js"
import { allowingUpgrades, upgradesAnnotation } from "./upgrades.js"

export interface PodFacts extends Omit<MeshWorkload, "ports" | "services"> {
  readonly ports: readonly ApplicationPort[]
}

/** Reports a user's mistake that is tolerated; `key` names the object. */
export type Warn = (key: string, message: string) => void

/** Undefined for a Pod that has finished, since it can no longer be reached. */
export function readPod(pod: KubernetesObject, names: MeshNames, warn: Warn): PodFacts | undefined {
  const { metadata } = pod
  const { phase } = objectOf(pod.status)
  if (phase === "Succeeded" || phase === "Failed") return undefined
  const namespace = metadata.namespace ?? "default"
  const key = `${namespace}/${metadata.name}`
  return {
    key,
    namespace,
    name: metadata.name,
    uid: metadata.uid ?? "",
    labels: labelsOf(metadata.labels),
    serviceAccount: textOf(objectOf(pod.spec).serviceAccountName) ?? "default",
    addresses: addressesOf(pod),
    ready: phase === "Running" && metadata.deletionTimestamp === undefined && isReady(pod),
    started: phase === "Running" || phase === "Unknown",
    leaving: metadata.deletionTimestamp !== undefined,
    owners: ownersOf(pod),
    proxied: isProxied(pod, names),
    enforcer: isAuthorizer(pod, names) ? "authorizer" : undefined,
    bypass: bypassOf(pod, names),
    udpPorts: udpPorts(pod.spec),
    udp: udpHandling(pod, names),
    ports: withUpgrades(key, portsOf(key, pod, names, warn), pod, names, warn),
    probes: probesOf(key, pod, names, warn),
  }
}

/** Owners by uid and by `Kind/name`, including the Deployment of a ReplicaSet. */
export function ownersOf({ metadata }: KubernetesObject): readonly string[] {
  const direct = ownerReferences(metadata).flatMap(({ kind, name, uid }) => [uid, `${kind}/${name}`])
  // A Deployment owns its Pods through ReplicaSets, whose names consist of its name and the hash of the template.
  const hash = metadata.labels?.["pod-template-hash"]
  const suffix = `-${hash}`
  const deployments = ownerReferences(metadata).flatMap(({ kind, name }) =>
    hash !== undefined && kind === "ReplicaSet" && name.endsWith(suffix)
      ? [`Deployment/${name.slice(0, -suffix.length)}`]
      : [],
  )
  return [...direct, ...deployments]
}

export function isReady(pod: KubernetesObject): boolean {
  return readyCondition(pod) !== undefined
}

/** In wall-clock milliseconds; undefined if the Pod is not ready, or its status does not say since when. */
export function readySince(pod: KubernetesObject): number | undefined {
  const since = Date.parse(textOf(readyCondition(pod)?.lastTransitionTime) ?? "")
  return Number.isNaN(since) ? undefined : since
}

function readyCondition(pod: KubernetesObject): Foreign | undefined {
  return listOf(objectOf(pod.status).conditions)
    .map(objectOf)
    .find(({ type, status }) => type === "Ready" && status === "True")
}

/** The primary address first; a Pod in a dual-stack cluster has one of each family. */
export function addressesOf(pod: KubernetesObject): readonly string[] {
  const { podIP, podIPs } = objectOf(pod.status)
  const all = [podIP, ...listOf(podIPs).map(entry => objectOf(entry).ip)]
  return [...new Set(all.flatMap(value => textOf(value) ?? []))].filter(address => isIP(address) !== 0)
}

/** Whether an xserver should handle its inbound connections, according to the Pod. */
export function isProxied(pod: KubernetesObject, names: MeshNames): boolean {
  const annotated = pod.metadata.annotations?.[`${names.domain}/proxy`] === "xserver"
  return annotated || isAuthorizer(pod, names) || isDeclared(pod, names) || hasXserver(pod.spec, names)
}

/** The proxy of a Pod always uses the usual ports; only that of a declared workload may listen on others. */
function portsOf(key: string, pod: KubernetesObject, names: MeshNames, warn: Warn): readonly ApplicationPort[] {
  const ports = applicationPorts(pod.spec, names)
  // It is not a proxy for another program: it listens on the ports that the Pod declares.
  if (isAuthorizer(pod, names)) return ports.map(port => ({ ...port, listen: port.port }))
  const text = pod.metadata.annotations?.[listenAnnotation(names)]
  if (text === undefined || !isDeclared(pod, names)) return ports
  const others = parseListenPorts(text)
  const moved = others && listeningOn(ports, others)
  if (moved === undefined) {
    const annotation = listenAnnotation(names)
    warn(key, `the annotation \`${annotation}\` is invalid, so the default ports apply; write it as 8080:21080`)
  }
  return moved ?? ports
}

function withUpgrades(
  key: string,
  ports: readonly ApplicationPort[],
  { metadata }: KubernetesObject,
  names: MeshNames,
  warn: Warn,
): readonly ApplicationPort[] {
  const annotation = upgradesAnnotation(names)
  const text = metadata.annotations?.[annotation]
  if (text === undefined) return ports
  const allowing = allowingUpgrades(ports, text)
  if (typeof allowing !== "string") return allowing
  warn(
    key,
    `the annotation \`${annotation}\` allows nothing: ${allowing}; write it as 8080=spdy/3.1,custom; 9090=custom`,
  )
  return ports
}

function probesOf(key: string, { metadata }: KubernetesObject, { domain }: MeshNames, warn: Warn): Probes {
  const annotation = `${domain}/probes`
  const text = metadata.annotations?.[annotation]
  if (text === undefined) return NO_PROBES
  const probes = parseProbes(text)
  if (probes === undefined) {
    warn(key, `the annotation \`${annotation}\` is invalid, so no probe is answered; remove it and recreate the Pod`)
  }
  return probes ?? NO_PROBES
}
