// SPDX-License-Identifier: Apache-2.0
// What the caller's proxy reports about the calls of its workload. An interface, so that the calls know nothing of
// registries, log formats or collectors.

import type { HeaderLines } from "@merlon/policy/request"
import type { HttpVersion } from "@merlon/wire/http"
import type { CallTransport } from "@merlon/xds"
import type { Ejection } from "../balance/outlier-detector.js"
import type { CallFailureCode } from "../errors.js"

/** One request, or one connection whose bytes are not looked into, when it is over. */
export interface CallRecord {
  readonly protocol: HttpVersion | "tcp"
  /** `host:port` of a Service of the mesh, else what the program called. */
  readonly destination: string
  readonly inMesh: boolean
  readonly transport: CallTransport
  /** `namespace/name` of the workload that was tried last. */
  readonly workload: string | undefined
  readonly requestId: string | undefined
  readonly method: string
  readonly host: string
  /** Without the query: queries carry tokens. */
  readonly path: string
  /** 0 for a connection, and where the program got no answer. */
  readonly status: number
  /** Content of the request. */
  readonly bytesReceived: number
  /** Content of the response. */
  readonly bytesSent: number
  readonly durationMs: number
  /** How many more endpoints were tried than one. */
  readonly retries: number
  /** Why the program got no answer of the destination. */
  readonly failure: CallFailureCode | undefined
  readonly reason: string | undefined
  /** The decision id of the denial, as the destination reports it; it is not proof of anything. */
  readonly decisionId: string | undefined
  /** Of a request that is recorded as a span. */
  readonly traceId: string | undefined
}

/** One request in its trace. */
export interface CallTrace {
  /** Undefined where it is not recorded. */
  readonly traceId: string | undefined
  /** Take the place of what the program sent under their names; those without a value only go. */
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
