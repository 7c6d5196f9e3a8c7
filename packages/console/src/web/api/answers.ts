// SPDX-License-Identifier: Apache-2.0
// The types of the answers API: observed traffic and proved answers. docs/reference/answers-api.md describes them.

import type { CallShape } from "@merlon/policy/ledger"
import type { ApiObject } from "./objects.js"

export interface Answer<T> extends ApiObject {
  readonly spec: T
}

export interface ObservedCall extends CallShape {
  readonly firstSeen: string
  readonly lastSeen: string
  readonly count: number
}

export interface Decision {
  readonly workload: string
  readonly time: string
  readonly id?: string
  readonly verdict: "allow" | "deny"
  readonly stage?: string
  readonly peer?: string
  readonly source?: string
  readonly port?: number
  readonly method: string
  readonly path: string
  readonly status: number
  readonly reason?: string
  readonly rule?: string
  readonly shadow?: string
  readonly explanation?: unknown
}

export interface RuleUse {
  readonly kind: string
  readonly policy: string
  readonly rule: number
  readonly field: string
  readonly action?: string
  readonly enforcement: string
  readonly count: number
  readonly lastSeen?: string
  readonly watchedSince: string
}

export interface ProxyReport {
  readonly workload: string
  readonly connectedAt: string
  readonly revision?: number
  readonly resources: number
  readonly behind: number
  readonly lagMs: number
  readonly rejection?: string
  /** Absent if the proxy does not report it. */
  readonly certificateNotAfter?: string
}

/** Metadata of the list of proxies: how long the last changes took until every proxy enforced them. */
export interface EnforcedNote {
  readonly enforced?: { readonly changes: number; readonly medianMs: number; readonly slowestMs: number }
}

/** A workload as policies see it. */
export interface WorkloadReport {
  /** For example `spiffe://…`. */
  readonly identity: string
  readonly ports: readonly {
    readonly port: number
    readonly protocol: string
    readonly mode: string
    /** The reason as text. */
    readonly why: string
    /** The policy that sets it. Absent for the default. */
    readonly policy?: string
    /** Policies that select the workload and are overridden. */
    readonly losers: readonly { readonly policy: string; readonly why: string }[]
    /** The mode including policies in shadow mode. */
    readonly shadow?: string
  }[]
  /** In evaluation order. */
  readonly policies: readonly {
    readonly stage: string
    readonly kind: string
    readonly policy: string
    readonly enforcement: string
  }[]
  /** Pods with other enforced policies. */
  readonly otherwise: readonly string[]
}

export interface TrafficMinute {
  readonly time: string
  readonly allowed: number
  readonly denied: number
}

/** Metadata of the list of calls: the traffic of the last hour, as far back as the server remembers. */
export interface TrafficNote {
  readonly traffic?: readonly TrafficMinute[]
}

export interface Analysis {
  readonly complete: boolean
  readonly findings: readonly Finding[]
}

export interface Suggested {
  readonly policy: object
  readonly evidence: { readonly calls: number; readonly firstSeen: string; readonly lastSeen: string }
  readonly replaces: readonly string[]
  readonly alsoSelects: readonly string[]
  readonly proofs: Readonly<
    Record<"keeps" | "addsNothing" | "asSeen", { readonly verdict: string; readonly why?: string }>
  >
}

export interface Readiness {
  readonly state: "strict" | "ready" | "waiting" | "unknown"
  readonly why: string
  readonly ports: readonly { readonly port: number; readonly mode: string }[]
  readonly plaintext: readonly {
    readonly port: number
    readonly from: string
    readonly address: string
    readonly count: number
    readonly lastSeen: string
  }[]
  readonly calls: number
  readonly windowStart: string
  readonly observedSince?: string
  readonly forgottenUntil?: string
}

/** A destination that a workload called, as the caller's proxies counted it. */
export interface Destination {
  readonly workload: string
  readonly destination: string
  readonly place: "mesh" | "cluster" | "outside"
  /** The called workload, if known. */
  readonly to?: string
  readonly transport: "mtls" | "plaintext" | "passthrough" | "none"
  readonly count: number
  readonly failures: number
  readonly lastReason?: string
  readonly lastSeen: string
}

export interface Witness {
  readonly protocol: "http" | "tcp"
  readonly principal?: string
  readonly sourceIp: string
  readonly port: number
  readonly method?: string
  readonly host?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, readonly string[]>>
  readonly token?: { readonly claims: Readonly<Record<string, unknown>> }
}

export interface Stage {
  readonly stage: string
  readonly outcome: "passed" | "denied" | "not reached"
  readonly why: string
}

export interface Explanation {
  readonly verdict: "allow" | "deny"
  readonly status?: number
  readonly body?: string
  readonly stages: readonly Stage[]
  readonly rule?: string
  readonly shadow?: "allow" | "deny"
  readonly change?: readonly {
    readonly at: string
    readonly change: string
    readonly value: string
    readonly policy: string
  }[]
}

export interface PolicyDiff {
  readonly result: "equal" | "different" | "undecided"
  readonly groups: readonly {
    readonly workloads: readonly string[]
    readonly changes: readonly {
      readonly from: string
      readonly to: string
      readonly region: string
      readonly witness: Witness
    }[]
    readonly undecided?: string
  }[]
  /** For a comparison of two moments: why the policies at one of them are unknown. Nothing is compared then. */
  readonly gaps?: readonly string[]
  /** Recorded calls that are decided differently. Absent from older control planes. */
  readonly touched?: {
    readonly calls: number
    readonly shapes: readonly {
      readonly caller: string
      readonly workload: string
      readonly method: string
      readonly path: string
      readonly count: number
      readonly to: "allow" | "deny"
    }[]
    /** Shapes of calls that were not evaluated. Absent from older control planes. */
    readonly untried?: number
  }
}

/** One admitted change of a policy. */
export interface HistoryEntry {
  readonly time: string
  /** Absent if several users requested exactly this change. */
  readonly user?: string
  readonly operation: "create" | "update" | "delete"
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly generation: number
  readonly sequence: number
  readonly difference: {
    readonly allowed: readonly EffectRegion[]
    readonly denied: readonly EffectRegion[]
    /** Why the lists may be incomplete. Absent if they are complete. */
    readonly undecided?: string
  }
  /** Absent from entries of older control planes. */
  readonly certificate?: { readonly digest: string } | { readonly missing: string }
  readonly digest: string
}

export interface EffectRegion {
  readonly region: string
  readonly workloads: readonly string[]
  /** The number of further workloads. */
  readonly more?: number
}

/** Metadata of the list of changes. */
export interface HistoryNote {
  readonly history?: {
    readonly enabled: boolean
    readonly entriesPerNamespace?: number
    /** When the history begins. Earlier changes are unknown. */
    readonly since?: string
  }
}

export interface Ways {
  readonly result: "proved" | "undecided"
  readonly ways: readonly {
    readonly workload: string
    readonly callers: string
    readonly requests: string
    readonly limits: readonly string[]
    readonly witness: Witness
    readonly policy?: string
    readonly rule?: number
  }[]
  readonly undecided: readonly { readonly workload: string; readonly reason: string }[]
}

export interface Finding {
  readonly code: string
  readonly severity: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly path: string
  readonly why: string
  readonly fix: string
}

/** Whether the control plane ran out of time. A repeated query may get further. */
export function isCutShort(answer: unknown): boolean {
  const { result, complete, touched } = (answer ?? {}) as Partial<PolicyDiff & Analysis> // one of several answers
  return result === "undecided" || complete === false || (touched?.untried ?? 0) > 0
}
