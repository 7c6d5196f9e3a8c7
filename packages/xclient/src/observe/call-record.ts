// SPDX-License-Identifier: Apache-2.0
// What the caller's proxy reports about the calls of its workload. An interface, so that the calls know nothing of
// registries, log formats or collectors.

import type { HeaderLines } from "@merlon/policy/request"
import type { HttpVersion } from "@merlon/wire/http"
import type { CallTransport } from "@merlon/xds"
import type { Ejection } from "../balance/outlier-detector.js"
import type { CallFailureCode } from "../errors.js"

/** One request, or one opaque connection, when it is over. */
export interface CallRecord {
  readonly protocol: HttpVersion | "tcp"
  /** `host:port` of a Service of the mesh, otherwise the destination that the program named. */
  readonly destination: string
  readonly inMesh: boolean
  readonly transport: CallTransport
  /** `namespace/name` of the workload that was tried last. */
  readonly workload: string | undefined
  readonly requestId: string | undefined
  readonly method: string
  readonly host: string
  /** Without the query, because queries carry tokens. */
  readonly path: string
  /** 0 for a connection, and if the program got no response. */
  readonly status: number
  /** Bytes of the request's content. */
  readonly bytesReceived: number
  /** Bytes of the response's content. */
  readonly bytesSent: number
  readonly durationMs: number
  /** Number of endpoints that were tried after the first one. */
  readonly retries: number
  /** Why the destination sent no response. */
  readonly failure: CallFailureCode | undefined
  readonly reason: string | undefined
  /** The decision id of the denial, as the destination reports it; it is not proof of anything. */
  readonly decisionId: string | undefined
  /** Set if the request is recorded as a span. */
  readonly traceId: string | undefined
}

/** One request in its trace. */
export interface CallTrace {
  /** Undefined if the request is not recorded. */
  readonly traceId: string | undefined
  /** Headers that replace the program's headers of the same names; a header without a value is only removed. */
  readonly headers: readonly (readonly [name: string, value: string | undefined])[] | undefined
  done(record: CallRecord): void
}

/** An endpoint that gets no requests for a while, because it failed several times in a row. */
export interface EjectionRecord {
  /** `host:port` of the Service. */
  readonly destination: string
  /** `namespace/name`. */
  readonly workload: string
  readonly reason: Ejection["reason"]
}

export interface CallObserver {
  /** Undefined if no collector is configured. */
  trace(headers: HeaderLines): CallTrace | undefined
  done(record: CallRecord): void
  ejected(record: EjectionRecord): void
}

export const UNOBSERVED: CallObserver = { trace: () => undefined, done: () => undefined, ejected: () => undefined }
