// SPDX-License-Identifier: Apache-2.0
// The shape of a call: what policies and people distinguish, and nothing that makes a single call unique. INVARIANT: no
// token, no query and no header; of claims only the issuer, which an enforced policy names.

/** The stage that ended the call, as `judge` names it; `message` if it could not be parsed as a request. */
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
  /** The identity proved by mTLS, as `spiffe://…`; absent if there was none. */
  readonly caller?: string
  /** The address of a caller without identity; absent for all others, `*` if there were too many to list. */
  readonly address?: string
  /** `namespace/name` of the workload that had this address at the time, if the control plane knew it. */
  readonly from?: string
  /**
   * `namespace/name` of the called workload: the controller of its Pods, such as the Deployment, or else the Pod
   * itself.
   */
  readonly workload: string
  /** The workload's own port. */
  readonly port: number
  readonly protocol: "http" | "tcp"
  /** Absent for TCP, like the path. `*` if there were too many to list. */
  readonly method?: string
  /** A path as policies write it, with `{*}` and `{**}` for the parts that differ between calls. */
  readonly path?: string
  /** Whether the connection used mTLS. */
  readonly tls: boolean
  /** The issuer of the verified token, if there was one. */
  readonly issuer?: string
  readonly verdict: "allow" | "deny"
  readonly stage: CallStage
  /** The rule that decided; absent if none did, for example if no ALLOW rule matched. */
  readonly rule?: CallRule
  /** The first AUDIT rule that matched. */
  readonly audit?: CallRule
  /** The verdict if shadow policies were enforced; absent if none applied. */
  readonly shadow?: { readonly verdict: "allow" | "deny"; readonly rule?: CallRule }
}

/** A shape with the number of its calls and their times. */
export interface ObservedCall extends CallShape {
  /** Milliseconds since the epoch. */
  readonly firstSeen: number
  readonly lastSeen: number
  readonly count: number
}

/** Equal only for equal shapes. */
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

/** `namespace/name[0]`, the notation for rules in answers. */
export function ruleText(rule: CallRule | undefined): string | undefined {
  return rule && `${rule.policy}[${rule.rule}]`
}

/** Combines two observations of one shape. */
export function mergeCalls(a: ObservedCall, b: ObservedCall): ObservedCall {
  return {
    ...a,
    firstSeen: Math.min(a.firstSeen, b.firstSeen),
    lastSeen: Math.max(a.lastSeen, b.lastSeen),
    count: Math.min(a.count + b.count, Number.MAX_SAFE_INTEGER),
  }
}
