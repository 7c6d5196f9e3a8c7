// SPDX-License-Identifier: Apache-2.0
// How a proxy reports requests of either direction: access log, counters, spans.

export type { SpanContent } from "../trace/otlp.js"
export { HTTP_VERSIONS } from "../trace/request-span.js"
export { type TraceOptions, Tracer } from "../trace/tracer.js"
export { AccessLog, type AccessLogFormat, type LogLine } from "./access-log.js"
export { Durations } from "./durations.js"
export { TalliedCounter, type Tally } from "./tallied-counter.js"
