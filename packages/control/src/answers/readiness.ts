// SPDX-License-Identifier: Apache-2.0
// Decides whether a workload's ports are ready for STRICT, and lists the remaining plaintext callers. Fail closed: a
// workload is ready only if its calls were observed for the whole window and none was dropped.

import type { ObservedCall } from "@merlon/policy/ledger"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { PeerModes } from "@merlon/policy/selection"
import type { ProxyRecord } from "../distribution/ledger.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { ObservedSpan } from "./call-ledger.js"
import { adviceFor, type CallerAdvice } from "./plaintext-advice.js"
import { workloadName } from "./workload-names.js"

export interface PlaintextCaller {
  readonly port: number
  /** The calling workload if it is known, else its address. */
  readonly from: string
  readonly address: string
  readonly count: number
  readonly firstSeen: string
  readonly lastSeen: string
}

/** A caller with what happens to it under STRICT. */
export interface AdvisedCaller extends PlaintextCaller, CallerAdvice {}

export interface PortMode {
  readonly port: number
  readonly mode: "DISABLE" | "PERMISSIVE" | "STRICT"
}

export interface Readiness {
  /** `strict` already; `ready` to become so; `waiting` for callers; `unknown` where some may not have been observed. */
  readonly state: "strict" | "ready" | "waiting" | "unknown"
  readonly why: string
  readonly ports: readonly PortMode[]
  /** Plaintext callers that were allowed within the window. */
  readonly plaintext: readonly AdvisedCaller[]
  /** All calls within the window, in plaintext or not. */
  readonly calls: number
  /** Start of the window: calls since then count, and `ready` needs observation since then. */
  readonly windowStart: string
  /** Since when calls of the workload are observed; absent if they are not. */
  readonly observedSince?: string
  /** Until when calls were dropped because there was no room; absent if none was dropped within the window. */
  readonly forgottenUntil?: string
}

export interface WorkloadReadiness extends Readiness {
  readonly namespace: string
  readonly name: string
}

export interface ReadinessSources {
  readonly workloads: Iterable<MeshWorkload>
  readonly documents: readonly PolicyDocument[]
  readonly calls: readonly ObservedCall[]
  readonly mesh: MeshConfig
  /** In milliseconds: calls last seen before this no longer count. */
  readonly since: number
  readonly now: number
  /** The observed span of a workload, by `namespace/name`. */
  readonly observed: (workload: string) => ObservedSpan
  /** Connected proxies of all replicas. */
  readonly proxies: ReadonlyMap<string, ProxyRecord>
}

export function readinessOf({
  workloads,
  documents,
  calls,
  mesh,
  since,
  now,
  observed,
  proxies,
}: ReadinessSources): readonly WorkloadReadiness[] {
  const byWorkload = new Map<string, MeshWorkload[]>()
  for (const workload of workloads) {
    const name = workloadName(workload)
    byWorkload.set(name, [...(byWorkload.get(name) ?? []), workload])
  }
  const seen = new Map<string, ObservedCall[]>()
  const first = new Map<string, number>()
  for (const call of calls) {
    first.set(call.workload, Math.min(first.get(call.workload) ?? Number.POSITIVE_INFINITY, call.firstSeen))
    if (call.lastSeen < since) continue
    const of = seen.get(call.workload)
    if (of === undefined) seen.set(call.workload, [call])
    else of.push(call)
  }
  return [...byWorkload]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, pods]) => {
      const [{ namespace } = { namespace: "" }] = pods
      const ports = portModes(pods, documents, mesh)
      // A workload without ports cannot be called, so there is nothing to wait for.
      if (ports.length === 0) return []
      const { since: counted, forgottenUntil } = observed(key)
      const firstCall = first.get(key)
      const span = {
        since,
        now,
        // A workload that joined the mesh after the ledger began is observed since its first call.
        observedSince: counted === undefined || firstCall === undefined ? undefined : Math.max(counted, firstCall),
        forgottenUntil: forgottenUntil !== undefined && forgottenUntil >= since ? forgottenUntil : undefined,
      }
      const proxied = pods.every(({ proxied: has }) => has)
      const called = seen.get(key) ?? []
      const plaintext = plaintextIn(called).map(caller => ({
        ...caller,
        ...adviceFor({
          pods: byWorkload.get(caller.from) ?? [],
          proxyOf: pod => proxies.get(pod),
          lastSeen: Date.parse(caller.lastSeen),
        }),
      }))
      const readiness = judged({ ports, calls: called, plaintext, proxied, span })
      return [{ namespace, name: key.slice(key.indexOf("/") + 1), ...readiness }]
    })
}

const WEAKEST: readonly PortMode["mode"][] = ["DISABLE", "PERMISSIVE", "STRICT"]

/** Modes of all Pods: while they are replaced, callers can only rely on the weakest mode of a port. */
function portModes(
  pods: readonly MeshWorkload[],
  documents: readonly PolicyDocument[],
  mesh: MeshConfig,
): readonly PortMode[] {
  const modes = new Map<number, PortMode["mode"]>()
  for (const pod of pods) {
    const resolved = new PeerModes(documents, pod, mesh)
    for (const { port } of pod.ports) {
      const { mode } = resolved.resolve(port)
      const known = modes.get(port) ?? mode
      modes.set(port, WEAKEST.find(weak => weak === mode || weak === known) ?? mode)
    }
  }
  return [...modes].map(([port, mode]) => ({ port, mode }))
}

interface Span {
  readonly since: number
  readonly now: number
  readonly observedSince: number | undefined
  readonly forgottenUntil: number | undefined
}

interface Judged {
  readonly ports: readonly PortMode[]
  readonly calls: readonly ObservedCall[]
  readonly plaintext: readonly AdvisedCaller[]
  readonly proxied: boolean
  readonly span: Span
}

function judged({ ports, calls, plaintext, proxied, span }: Judged): Readiness {
  const { since, now, observedSince, forgottenUntil } = span
  const total = calls.reduce((sum, { count }) => sum + count, 0)
  const all = {
    ports,
    plaintext,
    calls: total,
    windowStart: timeOf(since),
    ...(observedSince === undefined ? {} : { observedSince: timeOf(observedSince) }),
    ...(forgottenUntil === undefined ? {} : { forgottenUntil: timeOf(forgottenUntil) }),
  }
  const unknown = (why: string): Readiness => ({ ...all, state: "unknown", why })
  if (!proxied) return unknown("not every Pod has a proxy; enable injection and restart those without one")
  if (ports.every(({ mode }) => mode === "STRICT")) {
    return { ...all, state: "strict", why: "every port is STRICT" }
  }
  if (plaintext.length > 0) {
    // Fail closed: a captured caller may have ports that are excluded from capture, so readiness waits for it as well.
    return { ...all, state: "waiting", why: waitingFor(plaintext) }
  }
  if (total === 0) return unknown("no call was observed")
  if (calls.every(({ verdict }) => verdict === "deny")) return unknown("every observed call was denied")
  // Fail closed: a dropped call may have been a plaintext call.
  if (forgottenUntil !== undefined) {
    return unknown(`too many distinct calls to record; some until ${timeOf(forgottenUntil)} were dropped`)
  }
  // Fail closed: a plaintext caller may come once a day.
  if (observedSince === undefined || observedSince > since) {
    const seconds = observedSince === undefined ? 0 : now - observedSince
    return unknown(`observed only for ${spanText(seconds)} of ${spanText(now - since)}`)
  }
  return { ...all, state: "ready", why: "every allowed call used mTLS" }
}

function waitingFor(plaintext: readonly AdvisedCaller[]): string {
  const callers = new Set(plaintext.map(({ from }) => from))
  const captured = [...callers].filter(caller =>
    plaintext.every(({ from, calls }) => from !== caller || calls === "captured"),
  ).length
  const who = `${callers.size} plaintext ${callers.size === 1 ? "caller" : "callers"}`
  if (captured === 0) return who
  return `${who} (${captured === callers.size ? "" : `${captured} `}now captured)`
}

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const

/** Rounded down to its largest unit, as `24h` or `3d`. */
function spanText(milliseconds: number): string {
  // Spans of less than two days are written in hours, since `1d` could mean almost two days.
  const [unit, size] = UNITS.find(([, one]) => milliseconds >= (one === 86_400_000 ? 2 * one : one)) ?? ["s", 1_000]
  return `${Math.floor(Math.max(0, milliseconds) / size)}${unit}`
}

/** Only allowed calls count: a call that is denied already loses nothing under STRICT. */
export function plaintextIn(calls: readonly ObservedCall[]): readonly PlaintextCaller[] {
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
      firstSeen: timeOf(first),
      lastSeen: timeOf(last),
    }))
}
