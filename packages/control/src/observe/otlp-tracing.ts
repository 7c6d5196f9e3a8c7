// SPDX-License-Identifier: Apache-2.0
// Tracing with OpenTelemetry, loaded only if a collector is configured. Its packages are imported statically here,
// because a bundle keeps the names of CommonJS exports only this way.

import { type Span, SpanStatusCode } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { BatchSpanProcessor, type NodeTracerConfig, NodeTracerProvider } from "@opentelemetry/sdk-trace-node"
import { oneLine } from "./one-line.js"
import type { ControlSpan, Tracing, TracingOptions } from "./tracer.js"

const EXPORT_TIMEOUT = 5_000

export function otlpTracing(url: string, options: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT })
  const processor = new BatchSpanProcessor(exporter, { maxQueueSize: 2_048, scheduledDelayMillis: 2_000 })
  const resource = resourceOf(options)
  const provider = new NodeTracerProvider({ ...(resource && { resource }), spanProcessors: [processor] })
  const tracer = provider.getTracer(options.service)
  return {
    tracer: {
      enabled: true,
      start: (name, attributes = {}) => wrap(tracer.startSpan(name, { root: true, attributes })),
    },
    // An unreachable collector must not keep the control plane from stopping.
    stop: () => provider.shutdown().catch(() => undefined),
  }
}

function wrap(span: Span): ControlSpan {
  return {
    set: attributes => {
      span.setAttributes(attributes)
    },
    fail: message => {
      span.setStatus({ code: SpanStatusCode.ERROR, message: oneLine(message) })
    },
    end: () => span.end(),
  }
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
