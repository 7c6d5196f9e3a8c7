// SPDX-License-Identifier: Apache-2.0
// The interface for spans in the control plane, with or without a collector.

import type { Attributes } from "@opentelemetry/api"

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
  /** Sends the remaining spans; gives up after a moment if no collector accepts them. */
  readonly stop: () => Promise<void>
}

export interface TracingOptions {
  /** Name of the service: `<mesh>-control`. */
  readonly service: string
  readonly instance: string
  /** Base URL of the collector; if undefined, OTEL_EXPORTER_OTLP_ENDPOINT and related variables apply. */
  readonly endpoint?: string
  readonly environment?: { readonly [name: string]: string | undefined }
}
