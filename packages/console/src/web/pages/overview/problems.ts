// SPDX-License-Identifier: Apache-2.0
// Problems that need attention, sorted by impact, each with the one action that resolves it.

import type { Answer, ObservedCall, ProxyReport, Readiness } from "../../api/answers.js"
import { type Condition, keyOf, type Pod, type Policy } from "../../api/objects.js"
import { callerOf, causeOf } from "../../ui/names.js"
import { trafficOf } from "../allow/denied-call.js"
import type { Services } from "../graph/services.js"

export interface Problem {
  /** Unique among all problems. */
  readonly id: string
  readonly severity: "bad" | "warn" | "info"
  /** Sorts problems of the same severity, the largest first. */
  readonly impact: number
  readonly title: string
  /** Shown beside the title, as `9 requests`. */
  readonly badge: string
  readonly message: string
  readonly advice: string
  readonly action: { readonly label: string; readonly href: string }
  /** The latest denied call, if the problem is about denied calls. */
  readonly denied?: ObservedCall
}

const ADVICE: Readonly<Record<string, string>> = {
  Invalid: "Correct the fields named above. Until then Merlon enforces the last valid version, or none.",
  NoWorkloads: "Compare the selector with the labels of the workloads it is meant for.",
  IgnoredSelector: "Move the policy to another namespace, or remove the selector.",
  Superseded: "Keep one of the two policies: delete or narrow the other.",
  PartlySuperseded: "Keep one of the two policies where they overlap: delete or narrow the other.",
  NoProxies: "Start an xserver in front of the selected workloads; nothing enforces the policy there.",
  NoAuthorizer: "Start an authorizer that has the label of the target, or correct the target.",
  NoProxy: "Start an xserver in front of the selected workloads; nothing enforces the policy there.",
  NotStarted: "Wait until the control plane has read the whole cluster.",
  FetchingKeys: "Wait a moment. If this stays, check that the control plane reaches the issuer.",
  NoKeys: "Check that the control plane reaches the issuer's key set, and that its address is right.",
  Stale: "Check that the control plane still reaches the issuer's key set.",
  Rejected: "Check the log and the version of the proxy that rejects it.",
  Waiting: "Wait a moment. If this stays, look at the proxies that lag.",
  Broken: "Change the policy that allows the request, or the invariant.",
  UdpNotJudged:
    "Block UDP to injected Pods (`udp: refuse` in the chart's values), or restrict it with a NetworkPolicy.",
  ProxyGone: "Check that its proxy runs and reaches the control plane.",
}
/** Conditions that are bad when True. All others are good when True. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set(["Superseded", "UnjudgedPorts"])
/** Reasons that only warn: nothing is wrongly denied or allowed, but the policy has no effect yet. */
const ONLY_WARN: ReadonlySet<string> = new Set(["NoWorkloads"])
const OTHERWISE = "Open it and read its conditions."
/** Impacts above every realistic number of denied calls. */
const FIRST = 1_000_000_000
const MANY = 1_000_000
/** Certificates are renewed at half their life, so one this close to its expiry belongs to a proxy that cannot renew. */
const EXPIRES_SOON_MS = 3_600_000

export function policyProblems(policies: readonly Policy[]): readonly Problem[] {
  return policies.flatMap(policy => {
    const bad = (policy.status?.conditions ?? []).filter(isBad)
    const notes = bad.filter(({ type }) => type === "UnjudgedPorts")
    const errors = bad.filter(({ type }) => type !== "UnjudgedPorts")
    // `Ready` repeats the errors of the other conditions, but not the notes.
    const reported = [...(errors.length > 1 ? errors.filter(({ type }) => type !== "Ready") : errors), ...notes]
    const [worst] = reported
    if (worst === undefined) return []
    const messages = [...new Set(reported.map(({ message }) => message))]
    const warns = worst.status === "Unknown" || BAD_WHEN_TRUE.has(worst.type) || ONLY_WARN.has(worst.reason)
    return [
      {
        id: `${policy.kind}/${keyOf(policy)}`,
        severity: warns ? "warn" : "bad",
        impact: worst.reason === "Broken" ? FIRST : MANY,
        title: `${policy.kind} ${keyOf(policy)}`,
        badge: worst.reason,
        message: messages.join("; "),
        advice: ADVICE[worst.reason] ?? OTHERWISE,
        action: {
          label: worst.reason === "NoWorkloads" ? "Fix selector" : "Open",
          href: `/policies/${policy.kind}/${keyOf(policy)}`,
        },
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
        ...{ id: `Pod/${keyOf(pod)}`, severity: "bad", impact: MANY, title: `Workload ${keyOf(pod)} is not ready` },
        badge: ready.reason ?? "NotReady",
        message: ready.message ?? "it is not ready",
        advice: ADVICE[ready.reason] ?? "Check that its program and its proxy run, and read their logs.",
        action: { label: "Open", href: `/workloads/${keyOf(pod)}` },
      } as const,
    ]
  })
}

export function proxyProblems(proxies: readonly Answer<ProxyReport>[], now = Date.now()): readonly Problem[] {
  return proxies.flatMap((proxy): readonly Problem[] => {
    const { rejection, certificateNotAfter = "" } = proxy.spec
    const common = { impact: MANY, action: { label: "Open", href: `/workloads/${keyOf(proxy)}` } }
    const left = Date.parse(certificateNotAfter) - now
    return [
      ...(rejection === undefined
        ? []
        : [
            {
              ...{ ...common, id: `Proxy/${keyOf(proxy)}`, severity: "bad" as const, badge: "Rejected" },
              ...{ title: `Proxy ${keyOf(proxy)} rejects policies`, message: rejection },
              advice: ADVICE.Rejected ?? OTHERWISE,
            },
          ]),
      ...(left < EXPIRES_SOON_MS
        ? [
            {
              ...{ ...common, id: `Certificate/${keyOf(proxy)}`, severity: "warn" as const, badge: "Expires soon" },
              title: `The certificate of ${keyOf(proxy)} ${left < 0 ? "has expired" : "expires within the hour"}`,
              message: "Proxies renew at half the certificate's lifetime, so this one cannot renew.",
              advice: "Check that its proxy reaches the control plane.",
            },
          ]
        : []),
    ]
  })
}

/** Groups denied calls by caller, called service and cause. */
export function deniedProblems(
  calls: readonly ObservedCall[],
  services: Pick<Services, "ofWorkload">,
): readonly Problem[] {
  const groups = new Map<string, ObservedCall[]>()
  for (const call of calls) {
    if (call.verdict === "allow") continue
    const key = `${callerOf(call)} ${services.ofWorkload(call.workload)} ${causeOf(call)}`
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [call])
    else known.push(call)
  }
  return [...groups].flatMap(([key, found]) => {
    const [last] = [...found].sort((a, b) => (a.lastSeen < b.lastSeen ? 1 : -1))
    if (last === undefined) return []
    const requests = found.reduce((sum, { count }) => sum + count, 0)
    const shapes = [...new Set(found.map(({ method, path, port }) => requestText(method, path, port)))]
    return [
      {
        id: `Denied/${key}`,
        severity: "bad",
        impact: requests,
        title: `${callerOf(last)} is denied by ${services.ofWorkload(last.workload)}`,
        badge: `${requests} ${requests === 1 ? "request" : "requests"}`,
        message: `${capitalized(causeOf(last))}: ${shapes.slice(0, 3).join(", ")}${shapes.length > 3 ? ` and ${shapes.length - 3} more` : ""}`,
        advice: "",
        action: {
          label: "Explain",
          href: trafficOf(last),
        },
        denied: last,
      } as const,
    ]
  })
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function requestText(method: string | undefined, path: string | undefined, port: number): string {
  return method === undefined ? `\`TCP to port ${port}\`` : `\`${method} ${path ?? "/"}\``
}

export function plaintextProblems(workloads: readonly Answer<Readiness>[]): readonly Problem[] {
  const waiting = workloads.filter(({ spec }) => spec.state === "waiting")
  if (waiting.length === 0) return []
  const callers = new Set(waiting.flatMap(({ spec }) => spec.plaintext.map(({ from, address }) => from || address)))
    .size
  const receives = waiting.length === 1 ? "workload still receives" : "workloads still receive"
  return [
    {
      id: "Plaintext",
      severity: "info",
      impact: waiting.length,
      title: `${waiting.length} ${receives} plaintext`,
      badge: `${callers} ${callers === 1 ? "caller" : "callers"}`,
      message: "Switching to STRICT now would block them.",
      advice: "",
      action: { label: "Review callers", href: "/mtls" },
    },
  ]
}

const SEVERITIES = ["bad", "warn", "info"]

export function sorted(problems: readonly Problem[]): readonly Problem[] {
  const rank = ({ severity }: Problem): number => SEVERITIES.indexOf(severity)
  return [...problems].sort((a, b) => rank(a) - rank(b) || b.impact - a.impact || (a.id < b.id ? -1 : 1))
}

export function isBad({ type, status }: Condition): boolean {
  return BAD_WHEN_TRUE.has(type) ? status === "True" : status !== "True"
}
