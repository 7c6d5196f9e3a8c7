// SPDX-License-Identifier: Apache-2.0
// One span for each recorded request: the caller's sampling decision counts if there is one, else a fraction of the
// traces that begin here. The next server gets the decision in either case, so that it does not make its own.

import type { HeaderLines } from "@merlon/policy/request"
import { collectorAt } from "./collector.js"
import { exportRequest, type SpanContent, type SpanSource, writeSpan } from "./otlp.js"
import { SpanQueue } from "./span-queue.js"
import { readTraceParent, readTraceState, writeTraceParent } from "./trace-context.js"
import { isSampled, newSpanId, newTraceId } from "./trace-ids.js"

export interface TraceOptions {
  /** URL of the collector's OTLP endpoint. */
  readonly url: string
  /** Share of the traces that begin here, from 0 to 1. */
  readonly ratio: number
  readonly version?: string | undefined
}

/** Headers that replace the caller's headers of the same names; a header without a value is only removed. */
export type TraceHeaders = readonly (readonly [name: string, value: string | undefined])[]

/** One request in flight. */
export interface RequestTrace<R> {
  /** Undefined if the request is not recorded. */
  readonly traceId: string | undefined
  /** Undefined if the caller's headers are forwarded unchanged. */
  readonly headers: TraceHeaders | undefined
  done(record: R): void
}

const PARENT = "traceparent"
const STATE = "tracestate"

/** The request is not recorded, and its headers pass unchanged. */
const NOT_RECORDED: RequestTrace<unknown> = { traceId: undefined, headers: undefined, done: () => undefined }

export class Tracer<R> {
  readonly #ratio: number
  readonly #describe: (record: R) => SpanContent
  readonly #queue: SpanQueue<object>
  readonly #close: () => void

  constructor({ url, ratio }: TraceOptions, source: SpanSource, describe: (record: R) => SpanContent) {
    this.#ratio = ratio
    this.#describe = describe
    const collector = collectorAt(url)
    this.#queue = new SpanQueue<object>({ send: spans => collector.post(exportRequest(source, spans)) })
    this.#close = () => collector.close()
  }

  get exported(): number {
    return this.#queue.exported
  }

  get dropped(): number {
    return this.#queue.dropped
  }

  begin(headers: HeaderLines): RequestTrace<R> {
    const parent = readTraceParent(headers.get(PARENT))
    if (parent !== undefined && !parent.sampled) return this.#passedOn(headers)
    const traceId = parent?.traceId ?? newTraceId()
    const spanId = newSpanId()
    const sampled = parent !== undefined || isSampled(traceId, this.#ratio)
    // Section 3.3: state without a valid parent is discarded.
    const traceState = parent && readTraceState(headers.get(STATE))
    const written = writeTraceParent({ traceId, spanId, sampled })
    const traceHeaders: TraceHeaders = [
      [PARENT, written],
      [STATE, traceState],
    ]
    if (!sampled) return { ...NOT_RECORDED, headers: traceHeaders }
    // The wall clock, because the monotonic clock does not reflect that the clock was set or the machine was suspended
    // since the start.
    const startedAt = Date.now()
    const span = { traceId, spanId, parentSpanId: parent?.spanId, traceState, startedAt }
    const done = (record: R): void => this.#queue.add(() => writeSpan(span, this.#describe(record)))
    return { traceId, headers: traceHeaders, done }
  }

  async close(): Promise<void> {
    await this.#queue.close()
    this.#close()
  }

  #passedOn(headers: HeaderLines): RequestTrace<R> {
    const lines = headers.get(STATE)
    if (lines === undefined || lines.length === 0 || readTraceState(lines) !== undefined) return NOT_RECORDED
    return { ...NOT_RECORDED, headers: [[STATE, undefined]] }
  }
}
