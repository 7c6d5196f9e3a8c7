// SPDX-License-Identifier: Apache-2.0
// The shape of a call: what policies and people distinguish, and nothing that makes a single call unique. INVARIANT: no
// token, no query and no header; of claims only the issuer, which an enforced policy names.

/** How a call ended: by which stage, as `judge` names them; `message` is what could not be read as a request. */
export const CALL_STAGES = [
  "transport",
  "path",
  "token",
  "custom",
  "deny",
  "allow",
  "default",
  "protocol",
  "revoked",
  "internal",
  "message",
] as const

export type CallStage = (typeof CALL_STAGES)[number]

/** A rule by the name of its policy and its position: of a RequestAuthentication in stage `token`, else of an AuthorizationPolicy. */
export interface CallRule {
  /** `namespace/name`. */
  readonly policy: string
  readonly rule: number
}

export interface CallShape {
  /** The identity that mutual TLS proved, as `spiffe://…`; absent where there was none. */
  readonly caller?: string
  /** Where a caller without identity called from; absent for all others, `*` where there were too many to tell apart. */
  readonly address?: string
  /** `namespace/name` of the workload that had this address when it called, where the control plane knew one. */
  readonly from?: string
  /** `namespace/name` of who was called: what runs its Pods, as the Deployment, else the Pod itself. */
  readonly workload: string
  /** The workload's own port. */
  readonly port: number
  readonly protocol: "http" | "tcp"
  /** Absent for TCP, as is the path. `*` where there were too many to tell apart. */
  readonly method?: string
  /** A path as policies write it, with `{*}` and `{**}` for what differs from call to call. */
  readonly path?: string
  /** Whether the connection was one of mutual TLS. */
  readonly tls: boolean
  /** Of the verified token, where there was one. */
  readonly issuer?: string
  readonly verdict: "allow" | "deny"
  readonly stage: CallStage
  /** What settled it; absent where no rule did, as where no ALLOW rule matched. */
  readonly rule?: CallRule
  /** The first AUDIT rule that matched. */
  readonly audit?: CallRule
  /** What Shadow policies would have made of it; absent where none applied. */
  readonly shadow?: { readonly verdict: "allow" | "deny"; readonly rule?: CallRule }
}

/** A shape with how often it was seen, and when. */
export interface ObservedCall extends CallShape {
  /** Milliseconds since the epoch. */
  readonly firstSeen: number
  readonly lastSeen: number
  readonly count: number
}

/** Equal for equal shapes and for no others. */
export function callKey(shape: CallShape): string {
  const { caller, address, from, workload, port, protocol, method, path, tls, issuer, verdict, stage, shadow } = shape
  return JSON.stringify([
    caller,
    address,
    from,
    workload,
    port,
    protocol,
    method,
    path,
    tls,
    issuer,
    verdict,
    stage,
    ruleText(shape.rule),
    ruleText(shape.audit),
    shadow?.verdict,
    ruleText(shadow?.rule),
  ])
}

/** `namespace/name[0]`, as answers name rules. */
export function ruleText(rule: CallRule | undefined): string | undefined {
  return rule && `${rule.policy}[${rule.rule}]`
}

/** One shape seen by two. */
export function mergeCalls(a: ObservedCall, b: ObservedCall): ObservedCall {
  return {
    ...a,
    firstSeen: Math.min(a.firstSeen, b.firstSeen),
    lastSeen: Math.max(a.lastSeen, b.lastSeen),
    count: Math.min(a.count + b.count, Number.MAX_SAFE_INTEGER),
  }
}
