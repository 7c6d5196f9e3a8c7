// SPDX-License-Identifier: Apache-2.0
// What is wrong now, in the order in which it hurts, each with what to do about it.

import type { Answer, ProxyReport } from "../../api/answers.js"
import { type Condition, keyOf, type Pod, type Policy } from "../../api/objects.js"

export interface Problem {
  /** Unique among all. */
  readonly id: string
  readonly severity: "bad" | "warn"
  readonly what: string
  readonly reason: string
  readonly message: string
  readonly advice: string
  readonly href: string
}

const ADVICE: Readonly<Record<string, string>> = {
  Invalid: "Open it and correct what is named; until then the last valid form is enforced, or none.",
  NoWorkloads: "Compare its selector with the labels of the workloads it is meant for.",
  IgnoredSelector: "Move it to another namespace, or remove the selector.",
  Superseded: "Keep one of the two: delete or narrow the other.",
  PartlySuperseded: "Keep one of the two where they overlap: delete or narrow the other.",
  NoProxies: "Start an xserver in front of what it selects; nothing enforces it there.",
  NoProxy: "Start an xserver in front of what it selects; nothing enforces it there.",
  NotStarted: "Wait for the control plane to have seen the whole cluster.",
  FetchingKeys: "Wait a moment; if it stays, look whether the control plane reaches the issuer.",
  NoKeys: "Look whether the control plane reaches the issuer's key set, and whether the address is right.",
  Stale: "Look whether the control plane still reaches the issuer's key set.",
  Rejected: "Look into the log of the proxy that rejects it, and into its version.",
  Waiting: "Wait a moment; if it stays, look at the proxies that lag.",
  Broken: "Change the policy that lets the request through, or the statement.",
  UdpNotJudged:
    "Refuse UDP to injected Pods (`udp: refuse` in the chart's values), or restrict it with a NetworkPolicy.",
  ProxyGone: "Look whether its proxy runs and reaches the control plane.",
}
/** Every other condition is good when it is True. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set(["Superseded", "UnjudgedPorts"])
const OTHERWISE = "Open it and read its conditions."

export function policyProblems(policies: readonly Policy[]): readonly Problem[] {
  return policies.flatMap(policy => {
    const bad = (policy.status?.conditions ?? []).filter(isBad)
    const notes = bad.filter(({ type }) => type === "UnjudgedPorts")
    const faults = bad.filter(({ type }) => type !== "UnjudgedPorts")
    // `Ready` says again what the other faults say, and nothing of notes.
    const told = [...(faults.length > 1 ? faults.filter(({ type }) => type !== "Ready") : faults), ...notes]
    const [worst] = told
    if (worst === undefined) return []
    const messages = [...new Set(told.map(({ message }) => message))]
    return [
      {
        id: `${policy.kind}/${keyOf(policy)}`,
        severity: worst.status === "Unknown" || BAD_WHEN_TRUE.has(worst.type) ? "warn" : "bad",
        what: `${policy.kind} ${keyOf(policy)}`,
        reason: worst.reason,
        message: messages.join("; "),
        advice: ADVICE[worst.reason] ?? OTHERWISE,
        href: `/policies/${policy.kind}/${keyOf(policy)}`,
      } as const,
    ]
  })
}

export function podProblems(pods: readonly Pod[]): readonly Problem[] {
  return pods.flatMap(pod => {
    const ready = pod.status?.conditions?.find(({ type }) => type === "Ready")
    const done = pod.status?.phase === "Succeeded" || pod.metadata.deletionTimestamp !== undefined
    if (done || ready === undefined || ready.status === "True") return []
    return [
      {
        id: `Pod/${keyOf(pod)}`,
        severity: "bad",
        what: `workload ${keyOf(pod)}`,
        reason: ready.reason ?? "NotReady",
        message: ready.message ?? "it is not ready",
        advice: ADVICE[ready.reason] ?? "Look whether its program and its proxy run; its log says more.",
        href: `/workloads/${keyOf(pod)}`,
      } as const,
    ]
  })
}

export function proxyProblems(proxies: readonly Answer<ProxyReport>[]): readonly Problem[] {
  return proxies.flatMap(proxy => {
    const { rejection } = proxy.spec
    if (rejection === undefined) return []
    return [
      {
        id: `Proxy/${keyOf(proxy)}`,
        severity: "bad",
        what: `proxy ${keyOf(proxy)}`,
        reason: "Rejected",
        message: rejection,
        advice: ADVICE.Rejected ?? OTHERWISE,
        href: `/workloads/${keyOf(proxy)}`,
      } as const,
    ]
  })
}

export function sorted(problems: readonly Problem[]): readonly Problem[] {
  const rank = ({ severity, id }: Problem): string => `${severity === "bad" ? 0 : 1}${id}`
  return [...problems].sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

export function isBad({ type, status }: Condition): boolean {
  return BAD_WHEN_TRUE.has(type) ? status === "True" : status !== "True"
}
