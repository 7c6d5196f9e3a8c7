// SPDX-License-Identifier: Apache-2.0
// Spans as OTLP in JSON (opentelemetry-proto, `ExportTraceServiceRequest`).

import { ownText, shortText } from "../observe/own-text.js"

/** The position of a span in its trace. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number
}

/** The contents of a request's span. Texts are truncated and copied when it is written. */
export interface SpanContent {
  readonly kind: "server" | "client"
  /** The number of different names must be small, but callers can invent any path. */
  readonly name: string
  readonly durationMs: number
  readonly attributes: { readonly [key: string]: string | number | undefined }
  readonly failed: boolean
}

/** The workload that the spans belong to. */
export interface SpanSource {
  readonly namespace: string
  readonly name: string
  readonly version: string | undefined
  /** The program that records the spans. */
  readonly scope: string
}

type AttributeValue = { readonly stringValue: string } | { readonly intValue: string }
interface Attribute {
  readonly key: string
  readonly value: AttributeValue
}

const KINDS: Readonly<Record<SpanContent["kind"], number>> = { server: 2, client: 3 }
const STATUS_ERROR = 2

/** `spans` are results of `writeSpan`. */
export function exportRequest(source: SpanSource, spans: readonly object[]): object {
  const { namespace, name, version, scope } = source
  const resource = attributesOf({
    "service.name": name,
    "service.namespace": namespace,
    "service.version": version,
    "telemetry.sdk.language": "nodejs",
  })
  return {
    resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope: { name: scope }, spans }] }],
  }
}

/** Called when the request ends. The span waits for its batch, so nothing else of the request is kept. */
export function writeSpan(span: Span, content: SpanContent): object {
  const { traceId, spanId, parentSpanId, traceState, startedAt } = span
  const { kind, name, durationMs, attributes, failed } = content
  return {
    traceId: ownText(traceId),
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId: ownText(parentSpanId) }),
    ...(traceState !== undefined && { traceState: ownText(traceState) }),
    name: shortText(name),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(startedAt + durationMs),
    attributes: attributesOf(attributes),
    status: failed ? { code: STATUS_ERROR } : {},
  }
}

function attributesOf(values: SpanContent["attributes"]): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: attributeValue(value) }],
  )
}

/** 64-bit numbers are strings in JSON. */
function attributeValue(value: string | number): AttributeValue {
  return typeof value === "string" ? { stringValue: shortText(value) } : { intValue: String(value) }
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds)
  return `${whole}${String(Math.floor((milliseconds - whole) * 1e6)).padStart(6, "0")}`
}
