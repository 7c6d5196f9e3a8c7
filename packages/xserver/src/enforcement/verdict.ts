// SPDX-License-Identifier: Apache-2.0
// Every verdict of the gate: on a request, on a connection that is not HTTP, and on what is rejected whatever the
// policies are.

import type { AuthorizationStage, Decision, Judgement } from "@merlon/policy/authorization"

/** The judgement of a request or a connection. */
export type Judged = Judgement | TcpJudgement

export type TcpJudgement =
  | {
      readonly verdict: "allow" | "deny"
      readonly stage: AuthorizationStage
      readonly decision: Decision
    }
  | ProtocolDenial
  | RevokedPeer

/** The caller's certificate or identity was revoked, or its root was removed, while it was connected. */
export interface RevokedPeer {
  readonly verdict: "deny"
  readonly stage: "revoked"
}

/** The connection carries, or was asked to be upgraded to, a protocol that is not allowed on the port. */
export interface ProtocolDenial {
  readonly verdict: "deny"
  readonly stage: "protocol"
  readonly error: ProtocolError
}

/**
 * `undecided`: the first bytes did not show the protocol in time. `http-needed`: an enforced policy evaluates HTTP, and
 * this is not HTTP. `hidden-request`: something that an HTTP server could read as a request, inside other bytes.
 * `http-answer`: the application turned out to speak HTTP on a connection that does not. `upgrade`: an upgrade to a
 * protocol that the port does not allow. The others are errors in requests that gateways send to an authorizer.
 */
export type ProtocolError =
  | "upgrade"
  | "undecided"
  | "http-needed"
  | "hidden-request"
  | "http-answer"
  | "unknown-gateway"
  | "unusable-question"
  | "no-forward-auth"
  | "no-authzen"
  | "untrusted-subject"
  | "respelled-path"
  | "forged-header"
  | "joined-header"
  | "asked-in-circle"
  | "other-target"
