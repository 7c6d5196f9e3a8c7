// SPDX-License-Identifier: Apache-2.0
// Spans for whoever collects them (OTLP over HTTP). OpenTelemetry is loaded only where an endpoint is configured;
// without one a span is one shared object whose methods do nothing.

import type { Attributes, Span } from "@opentelemetry/api"
import type { NodeTracerConfig } from "@opentelemetry/sdk-trace-node"
import { oneLine } from "./one-line.js"

export interface ControlSpan {
  set(attributes: Attributes): void
  fail(message: string): void
  end(): void
}

export interface ControlTracer {
  readonly enabled: boolean
  start(name: string, attributes?: Attributes): ControlSpan
}

export interface Tracing {
  readonly tracer: ControlTracer
  /** Sends what is left; gives up after a moment where nobody takes it. */
  readonly stop: () => Promise<void>
}

export interface TracingOptions {
  /** Name of the service: `<mesh>-control`. */
  readonly service: string
  readonly instance: string
  /** Base URL of the collector; OTEL_EXPORTER_OTLP_ENDPOINT and its kin where absent. */
  readonly endpoint?: string
  readonly environment?: { readonly [name: string]: string | undefined }
}

const NO_SPAN: ControlSpan = { set: () => undefined, fail: () => undefined, end: () => undefined }
export const NO_TRACER: ControlTracer = { enabled: false, start: () => NO_SPAN }
const NO_TRACING: Tracing = { tracer: NO_TRACER, stop: async () => undefined }
const EXPORT_TIMEOUT = 5_000

export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const url = endpointOf(options)
  if (url === undefined) return NO_TRACING
  const [{ SpanStatusCode }, { BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace-node"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ])
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT })
  const processor = new BatchSpanProcessor(exporter, { maxQueueSize: 2_048, scheduledDelayMillis: 2_000 })
  const resource = resourceOf(options)
  const provider = new NodeTracerProvider({ ...(resource && { resource }), spanProcessors: [processor] })
  const tracer = provider.getTracer(options.service)
  const wrap = (span: Span): ControlSpan => ({
    set: attributes => {
      span.setAttributes(attributes)
    },
    fail: message => {
      span.setStatus({ code: SpanStatusCode.ERROR, message: oneLine(message) })
    },
    end: () => span.end(),
  })
  return {
    tracer: {
      enabled: true,
      start: (name, attributes = {}) => wrap(tracer.startSpan(name, { root: true, attributes })),
    },
    // A collector that is away must not keep the control plane from ending.
    stop: () => provider.shutdown().catch(() => undefined),
  }
}

/** Runs something inside a span; what it throws ends the span as failed and is thrown on. */
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

function resourceOf({ service, instance }: TracingOptions): NodeTracerConfig["resource"] {
  const attributes = { "service.name": service, "service.instance.id": instance }
  const resource: NonNullable<NodeTracerConfig["resource"]> = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  }
  return resource
}
