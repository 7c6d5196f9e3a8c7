// SPDX-License-Identifier: Apache-2.0
// Reports a workload's outbound calls: access log, metrics and spans, with the same options as for inbound requests, and
// the destinations for the control plane.

import type { HeaderLines } from "@merlon/policy/request"
import type { CallObserver, CallRecord, CallTrace, EjectionRecord } from "@merlon/xclient"
import { type LineOutput, standardOutput } from "@merlon/xds/runtime"
import { AccessLog, type AccessLogFormat, type TraceOptions, Tracer } from "@merlon/xserver/observe"
import { callLine } from "./call-line.js"
import { CallMetrics } from "./call-metrics.js"
import { callSpan } from "./call-span.js"
import { CalledDestinations } from "./called-destinations.js"

export interface ObservedCallsOptions {
  readonly mesh: string
  readonly workload: { readonly namespace: string; readonly name: string }
  readonly accessLog: AccessLogFormat
  /** No spans are collected without it. */
  readonly traces?: TraceOptions | undefined
  readonly out?: LineOutput
}

export class ObservedCalls implements CallObserver {
  readonly #log: AccessLog<CallRecord> | undefined
  readonly #tracer: Tracer<CallRecord> | undefined
  readonly #metrics: CallMetrics
  readonly #destinations = new CalledDestinations()

  constructor({ mesh, workload, accessLog, traces, out = standardOutput() }: ObservedCallsOptions) {
    if (accessLog !== "off") this.#log = new AccessLog(callLine(accessLog), out)
    if (traces !== undefined) {
      const { namespace, name } = workload
      const source = { namespace, name, scope: `${mesh}-xclient`, version: traces.version }
      this.#tracer = new Tracer(traces, source, record => callSpan(record, mesh))
    }
    this.#metrics = new CallMetrics(mesh, this.#tracer)
  }

  trace(headers: HeaderLines): CallTrace | undefined {
    return this.#tracer?.begin(headers)
  }

  done(record: CallRecord): void {
    this.#metrics.add(record)
    this.#destinations.add(record)
    this.#log?.write(record)
  }

  ejected(record: EjectionRecord): void {
    this.#metrics.ejected(record)
  }

  destinations(): ReturnType<CalledDestinations["list"]> {
    return this.#destinations.list()
  }

  metrics(): ReturnType<CallMetrics["registry"]["getMetricsAsJSON"]> {
    return this.#metrics.registry.getMetricsAsJSON()
  }

  async close(): Promise<void> {
    this.#log?.flush()
    await this.#tracer?.close()
  }
}
