// SPDX-License-Identifier: Apache-2.0
// Spans as OTLP in JSON (opentelemetry-proto, `ExportTraceServiceRequest`), with the names of OpenTelemetry's conventions for
// HTTP servers. No query is told, and no header: they carry tokens.

import type { RequestRecord } from "../observe/meters.js"
import { ownText, shortText } from "../observe/own-text.js"
import { policyOf } from "../observe/reason.js"

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number
  readonly record: RequestRecord
}

/** Whose spans they are. */
export interface SpanSource {
  readonly namespace: string
  readonly name: string
  readonly version: string | undefined
  /** The mesh's word, before attributes that are ours. */
  readonly mesh: string
}

type AttributeValue = { readonly stringValue: string } | { readonly intValue: string }
interface Attribute {
  readonly key: string
  readonly value: AttributeValue
}

const SERVER_KIND = 2
const STATUS_ERROR = 2
const HTTP_VERSIONS: Readonly<Record<RequestRecord["protocol"], string>> = {
  "http/1.0": "1.0",
  "http/1.1": "1.1",
  h2: "2",
  tcp: "",
}

/** Of spans as `writeSpan` gives them. */
export function exportRequest(source: SpanSource, spans: readonly object[]): object {
  const { namespace, name, version, mesh } = source
  const resource = attributesOf({
    "service.name": name,
    "service.namespace": namespace,
    "service.version": version,
    "telemetry.sdk.language": "nodejs",
  })
  const scope = { name: `${mesh}-xserver` }
  return {
    resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }],
  }
}

/** Written when the request ends, since it waits for its batch: of the request nothing is kept but this. */
export function writeSpan(span: Span, mesh: string): object {
  const { traceId, spanId, parentSpanId, traceState, startedAt, record } = span
  const { judgement, method, status, upstreamFailure } = record
  const failed = status >= 500 || upstreamFailure !== undefined
  const policy = policyOf(judgement)
  return {
    traceId: ownText(traceId),
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId: ownText(parentSpanId) }),
    ...(traceState !== undefined && { traceState: ownText(traceState) }),
    // Paths are anybody's to invent; a name is one of few.
    name: shortText(method),
    kind: SERVER_KIND,
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(startedAt + record.durationMs),
    attributes: attributesOf({
      "http.request.method": method,
      "http.response.status_code": status === 0 ? undefined : status,
      "url.path": record.path,
      "server.address": record.host === "" ? undefined : record.host,
      "server.port": record.port,
      "client.address": record.source,
      "network.protocol.name": "http",
      "network.protocol.version": HTTP_VERSIONS[record.protocol],
      "error.type": upstreamFailure ?? (failed ? String(status) : undefined),
      [`${mesh}.verdict`]: judgement?.verdict ?? "deny",
      [`${mesh}.stage`]: judgement?.stage,
      [`${mesh}.policy`]: policy && `${policy.namespace}/${policy.name}`,
      [`${mesh}.decision_id`]: record.decisionId,
      [`${mesh}.request_id`]: record.requestId,
      [`${mesh}.peer`]: record.peer,
    }),
    status: failed ? { code: STATUS_ERROR } : {},
  }
}

function attributesOf(values: { readonly [key: string]: string | number | undefined }): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: attributeValue(value) }],
  )
}

/** 64-bit numbers are text in JSON. */
function attributeValue(value: string | number): AttributeValue {
  return typeof value === "string" ? { stringValue: shortText(value) } : { intValue: String(value) }
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds)
  return `${whole}${String(Math.floor((milliseconds - whole) * 1e6)).padStart(6, "0")}`
}
