// SPDX-License-Identifier: Apache-2.0
// What the data path reports. An interface, so that handlers know nothing of registries, label sets or log formats.

import type { UpstreamFailure } from "@merlon/wire/http"
import type { Judged } from "../enforcement/verdict.js"
import type { LimitName } from "../limits.js"

/** Why a TLS connection was not accepted: a closed set, for a label. */
export type TlsFailure =
  | "no-certificate"
  | "expired"
  | "not-yet-valid"
  | "untrusted"
  | "bad-identity"
  | "wrong-trust-domain"
  | "revoked"
  | "protocol"
  | "timeout"
  | "not-tls"
  | "tls-not-accepted"
  | "other"

/** One request, or one TCP connection, when it is over. */
export interface RequestRecord {
  readonly protocol: "http/1.1" | "http/1.0" | "h2" | "tcp"
  /** Undefined if the message could not be parsed and was never judged. */
  readonly judgement: Judged | undefined
  /** The id in the decision header; undefined if the request was allowed. */
  readonly decisionId: string | undefined
  readonly requestId: string | undefined
  readonly method: string
  readonly host: string
  /** As received, without the query, because queries carry tokens. */
  readonly path: string
  /** 0 if the connection was closed without a reply. */
  readonly status: number
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly durationMs: number
  readonly peer: string | undefined
  readonly source: string
  readonly port: number
  readonly upstreamFailure: UpstreamFailure | undefined
  /** Set if the request is recorded as a span. */
  readonly traceId?: string | undefined
}

/** The fields of a record without a request: none was parsed, or the connection ended before one was sent. */
export const NO_REQUEST = {
  decisionId: undefined,
  requestId: undefined,
  method: "",
  host: "",
  path: "",
  status: 0,
  bytesReceived: 0,
  bytesSent: 0,
  durationMs: 0,
  upstreamFailure: undefined,
} as const satisfies Partial<RequestRecord>

export interface Meters {
  connectionOpened(port: number): void
  connectionClosed(port: number): void
  tlsFailed(failure: TlsFailure): void
  /** The port's mode rejected the connection. It is already counted as a TLS failure; this is for the log. */
  connectionRejected(record: RequestRecord): void
  limitHit(limit: LimitName): void
  /** A change ended what it now denies. If a request or tunnel was in flight, its record follows. */
  endedByChange(protocol: RequestRecord["protocol"], stage: Judged["stage"]): void
  requestDone(record: RequestRecord): void
}
