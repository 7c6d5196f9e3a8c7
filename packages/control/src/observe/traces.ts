// SPDX-License-Identifier: Apache-2.0
// Exports spans (OTLP over HTTP). OpenTelemetry is loaded only if an endpoint is configured; otherwise all spans are
// one shared no-op object.

import type { Attributes } from "@opentelemetry/api"
import type { ControlSpan, ControlTracer, Tracing, TracingOptions } from "./tracer.js"

const NO_SPAN: ControlSpan = { set: () => undefined, fail: () => undefined, end: () => undefined }
export const NO_TRACER: ControlTracer = { enabled: false, start: () => NO_SPAN }
const NO_TRACING: Tracing = { tracer: NO_TRACER, stop: async () => undefined }

export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const url = endpointOf(options)
  if (url === undefined) return NO_TRACING
  const { otlpTracing } = await import("./otlp-tracing.js")
  return otlpTracing(url, options)
}

/** Runs a function inside a span. An error ends the span as failed and is rethrown. */
export async function traced<T>(
  tracer: ControlTracer,
  name: string,
  attributes: Attributes,
  run: (span: ControlSpan) => Promise<T>,
): Promise<T> {
  if (!tracer.enabled) return run(NO_SPAN)
  const span = tracer.start(name, attributes)
  try {
    return await run(span)
  } catch (error) {
    span.fail(error instanceof Error ? error.message : "failed")
    throw error
  } finally {
    span.end()
  }
}

function endpointOf({ endpoint, environment = process.env }: TracingOptions): string | undefined {
  const own = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  const base = endpoint ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined && own !== undefined && own !== "") return own
  return base === undefined || base === "" ? undefined : `${base.replace(/\/+$/, "")}/v1/traces`
}
