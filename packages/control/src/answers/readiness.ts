// SPDX-License-Identifier: Apache-2.0
// Whether a workload's ports can take mutual TLS alone: who still calls in plaintext, and what that says.

import { type MeshConfig, PeerModes, type PolicyDocument, type SeenCall } from "@merlon/policy"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { workloadName } from "./workload-names.js"

export interface PlaintextCaller {
  readonly port: number
  /** Who it was, as far as anybody knows: a workload, else an address. */
  readonly from: string
  readonly address: string
  readonly count: number
  readonly firstSeen: string
  readonly lastSeen: string
}

export interface PortMode {
  readonly port: number
  readonly mode: "DISABLE" | "PERMISSIVE" | "STRICT"
}

export interface Readiness {
  /** `strict` already; `ready` to become so; `waiting` for callers; `unknown` where nobody could have seen them. */
  readonly state: "strict" | "ready" | "waiting" | "unknown"
  readonly why: string
  readonly ports: readonly PortMode[]
  /** Let in within the window. */
  readonly plaintext: readonly PlaintextCaller[]
  /** All calls within the window, in plaintext or not. */
  readonly calls: number
}

export interface WorkloadReadiness extends Readiness {
  readonly namespace: string
  readonly name: string
}

export interface ReadinessSources {
  readonly workloads: Iterable<MeshWorkload>
  readonly documents: readonly PolicyDocument[]
  readonly calls: readonly SeenCall[]
  readonly mesh: MeshConfig
  /** Milliseconds: what was seen last before this is no reason any more. */
  readonly since: number
}

export function readinessOf({
  workloads,
  documents,
  calls,
  mesh,
  since,
}: ReadinessSources): readonly WorkloadReadiness[] {
  const byWorkload = new Map<string, MeshWorkload[]>()
  for (const workload of workloads) {
    const name = workloadName(workload)
    byWorkload.set(name, [...(byWorkload.get(name) ?? []), workload])
  }
  const seen = new Map<string, SeenCall[]>()
  for (const call of calls) {
    if (call.lastSeen < since) continue
    const of = seen.get(call.workload)
    if (of === undefined) seen.set(call.workload, [call])
    else of.push(call)
  }
  return [...byWorkload]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, pods]) => {
      const [first] = pods
      // Where nobody can call, there is nothing to wait for.
      if (first === undefined || first.ports.length === 0) return []
      const modes = new PeerModes(documents, first, mesh)
      const ports = first.ports.map(({ port }) => ({ port, mode: modes.resolve(port).mode }))
      const readiness = judged(
        ports,
        seen.get(key) ?? [],
        pods.every(({ proxied }) => proxied),
      )
      return [{ namespace: first.namespace, name: key.slice(key.indexOf("/") + 1), ...readiness }]
    })
}

function judged(ports: readonly PortMode[], calls: readonly SeenCall[], proxied: boolean): Readiness {
  const plaintext = plaintextIn(calls)
  const total = calls.reduce((sum, { count }) => sum + count, 0)
  const all = { ports, plaintext, calls: total }
  if (!proxied) return { ...all, state: "unknown", why: "not all of its Pods have an xserver; inject one first" }
  if (ports.length > 0 && ports.every(({ mode }) => mode === "STRICT")) {
    return { ...all, state: "strict", why: "its ports take mutual TLS alone" }
  }
  if (plaintext.length > 0) {
    const who = new Set(plaintext.map(({ from }) => from)).size
    return { ...all, state: "waiting", why: `${who} ${who === 1 ? "caller comes" : "callers come"} in plaintext` }
  }
  if (total === 0) return { ...all, state: "unknown", why: "nobody called, so nobody can say who would" }
  if (calls.every(({ verdict }) => verdict === "deny")) {
    return { ...all, state: "unknown", why: "every call was refused, so nobody can say who would be let in" }
  }
  return { ...all, state: "ready", why: "every call that was let in came by mutual TLS" }
}

/** What was refused loses nothing. */
export function plaintextIn(calls: readonly SeenCall[]): readonly PlaintextCaller[] {
  const callers = new Map<
    string,
    { port: number; from: string; address: string; count: number; first: number; last: number }
  >()
  for (const { tls, verdict, port, address = "*", from = address, count, firstSeen, lastSeen } of calls) {
    if (tls || verdict === "deny") continue
    const key = `${port} ${from} ${address}`
    const known = callers.get(key)
    if (known === undefined) callers.set(key, { port, from, address, count, first: firstSeen, last: lastSeen })
    else {
      known.count += count
      known.first = Math.min(known.first, firstSeen)
      known.last = Math.max(known.last, lastSeen)
    }
  }
  return [...callers.values()]
    .sort((a, b) => b.last - a.last)
    .map(({ first, last, ...caller }) => ({
      ...caller,
      firstSeen: new Date(first).toISOString(),
      lastSeen: new Date(last).toISOString(),
    }))
}
