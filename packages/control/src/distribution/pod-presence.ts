// SPDX-License-Identifier: Apache-2.0
// Computes the status of a declared Pod. Pure: without a kubelet, the proxy's stream is the only evidence.

import { isIP } from "node:net"
import type { ClientNode } from "@merlon/xds/server"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { exposedCondition } from "../registry/captured.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"

/** The workload's address: as it reports, else the address of its stream. Undefined if neither is an IP address. */
export function addressOfNode({ metadata, peerAddress }: ClientNode): string | undefined {
  return plainAddress(metadata.address) ?? plainAddress(peerAddress)
}

function plainAddress(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined
  // A dual-stack listener reports IPv4 peers as IPv4-mapped IPv6 addresses.
  const bare = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(value)?.[1] ?? value
  return isIP(bare) === 0 ? undefined : bare
}

/** Whether the application accepts calls, as its proxy reports; true if it reports nothing. */
export function isApplicationReady({ metadata }: ClientNode): boolean {
  return metadata.application !== "not ready"
}

/** Ports at which the application can be reached past its proxy, as the proxy reports. */
export function exposedBy({ metadata }: ClientNode): readonly number[] {
  const text = typeof metadata.exposed === "string" ? metadata.exposed : ""
  return /^\d{1,5}(,\d{1,5})*$/.test(text) ? text.split(",").map(Number) : []
}

export type Absence = "ProxyGone" | "ApplicationNotReady"

const ABSENT: Readonly<Record<Absence, string>> = {
  ProxyGone: "its proxy is not connected",
  ApplicationNotReady: "its application does not answer its proxy",
}

export interface Presence {
  readonly ready: boolean
  /** The reason if it is not ready. */
  readonly absence?: Absence
  /** Unchanged if undefined. */
  readonly address: string | undefined
  /** The replica that reports this. */
  readonly replica: string
  /** Known ways to bypass the proxy; undefined if nothing is known. */
  readonly captured?: { readonly type: string; readonly exposed: readonly number[] }
}

/** The replica that last reported the Pod as ready; undefined if none did. */
export function readyReporterOf(pod: KubernetesObject): string | undefined {
  const { status, message } = readyCondition(pod)
  return status === "True" && typeof message === "string" ? message.slice(WITNESS.length) : undefined
}

const WITNESS = "its proxy enforces and is connected to "

/** The merge patch of the status, or undefined if the status is up to date. */
export function presencePatch(
  pod: KubernetesObject,
  { ready, absence = "ProxyGone", address, replica, captured }: Presence,
  now: number,
): object | undefined {
  const status = objectOf(pod.status)
  const before = readyCondition(pod)
  const wanted = ready ? "True" : "False"
  const message = ready ? `${WITNESS}${replica}` : ABSENT[absence]
  const moved = ready && address !== undefined && status.podIP !== address
  const gated = ready && conditionOf(pod, "PodScheduled").status === "False"
  const same = before.status === wanted && before.message === message && !gated
  const open = captured === undefined || captured.exposed.length === 0 ? undefined : exposedCondition(captured.exposed)
  const isKnown = captured === undefined || (conditionOf(pod, captured.type).message ?? "") === (open?.message ?? "")
  if (same && isKnown && !moved && (!ready || status.phase === "Running")) return undefined
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z")
  const condition = {
    type: "Ready",
    status: wanted,
    reason: ready ? "ProxyConnected" : absence,
    message,
    lastTransitionTime: before.status === wanted ? (before.lastTransitionTime ?? time) : time,
  }
  // The scheduling gate keeps schedulers away, so the API server reports the Pod as waiting. A proxy that enforces
  // policies is not waiting.
  const placed = { type: "PodScheduled", status: "True", reason: "Declared", lastTransitionTime: time }
  const written = [
    ...(gated ? ["Ready", "PodScheduled"] : ["Ready"]),
    ...(captured === undefined ? [] : [captured.type]),
  ]
  const bypass = open === undefined ? [] : [{ type: captured?.type, ...open, lastTransitionTime: time }]
  const others = listOf(status.conditions).filter(other => !written.includes(textOf(objectOf(other).type) ?? ""))
  return {
    status: {
      ...(ready ? { phase: "Running", startTime: status.startTime ?? time } : {}),
      ...(moved ? { podIP: address, podIPs: [{ ip: address }] } : {}),
      conditions: [...others, ...(gated ? [placed] : []), ...bypass, condition],
      containerStatuses: containerStatuses(pod, ready, absence, time),
    },
  }
}

/** What `kubectl get pods` counts: no container runs in the cluster, but the application runs behind its proxy. */
function containerStatuses(pod: KubernetesObject, ready: boolean, absence: Absence, time: string): readonly object[] {
  return listOf(objectOf(pod.spec).containers).map(container => {
    const { name, image } = objectOf(container)
    const state = ready ? { running: { startedAt: time } } : { waiting: { reason: absence } }
    return { name, image, imageID: "", ready, started: ready, restartCount: 0, state }
  })
}

function readyCondition(pod: KubernetesObject): { readonly [field: string]: unknown } {
  return conditionOf(pod, "Ready")
}

function conditionOf(pod: KubernetesObject, type: string): { readonly [field: string]: unknown } {
  return objectOf(listOf(objectOf(pod.status).conditions).find(condition => objectOf(condition).type === type))
}
