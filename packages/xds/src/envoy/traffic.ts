// SPDX-License-Identifier: Apache-2.0
// Encodes retries, limits and outlier detection of a MeshService in Envoy's fields, for standard xDS clients. For a
// field that is absent here, the client's default applies. gRPC clients use the retry statuses and count, and the
// request limit.

import { create } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import {
  type CircuitBreakers,
  CircuitBreakers_ThresholdsSchema,
  CircuitBreakersSchema,
} from "../generated/envoy/config/cluster/v3/circuit_breaker_pb.js"
import {
  type OutlierDetection,
  OutlierDetectionSchema,
} from "../generated/envoy/config/cluster/v3/outlier_detection_pb.js"
import { type RetryPolicy, RetryPolicySchema } from "../generated/envoy/config/route/v3/route_components_pb.js"
import type { ConnectionPoolSpec, OutlierDetectionSpec, RetrySpec } from "../traffic.js"
import { methodIn } from "./matches.js"

const STATUS = /^\d{3}$/
const GRPC = new Set(["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"])
const IDEMPOTENT = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]

/** Undefined if nothing is retried: gRPC clients reject a route with zero retries. */
export function retryPolicy(retries: RetrySpec | undefined): RetryPolicy | undefined {
  if (retries === undefined || retries.attempts === 0) return undefined
  const { attempts, perTryTimeoutMs, retryOn, nonIdempotent } = retries
  const codes = retryOn.filter(condition => STATUS.test(condition)).map(Number)
  // All gRPC calls are POST, and gRPC clients ignore methods, so only the conditions can prevent their retries.
  const named = retryOn.filter(condition => !STATUS.test(condition) && (nonIdempotent || !GRPC.has(condition)))
  const conditions = [...named, ...(codes.length === 0 ? [] : ["retriable-status-codes"])]
  if (conditions.length === 0) return undefined
  return create(RetryPolicySchema, {
    retryOn: conditions.join(","),
    numRetries: attempts,
    retriableStatusCodes: codes,
    ...(perTryTimeoutMs === undefined ? {} : { perTryTimeout: durationFromMs(perTryTimeoutMs) }),
    // One matching header is enough.
    retriableRequestHeaders: nonIdempotent ? [] : IDEMPOTENT.map(methodIn),
  })
}

/** Undefined if no limit is set. */
export function circuitBreakers(pool: ConnectionPoolSpec | undefined): CircuitBreakers | undefined {
  const { maxConnections, maxPendingRequests, maxRequests } = pool ?? {}
  const limits = {
    ...(maxConnections === undefined ? {} : { maxConnections }),
    ...(maxPendingRequests === undefined ? {} : { maxPendingRequests }),
    ...(maxRequests === undefined ? {} : { maxRequests }),
  }
  if (Object.keys(limits).length === 0) return undefined
  return create(CircuitBreakersSchema, { thresholds: [create(CircuitBreakers_ThresholdsSchema, limits)] })
}

/** Ejects only by consecutive errors; Envoy's ejection by success rate is turned off. */
export function outlierDetection(spec: OutlierDetectionSpec | undefined): OutlierDetection | undefined {
  if (spec === undefined) return undefined
  const { consecutive5xxErrors, consecutiveGatewayErrors = 0, intervalMs, baseEjectionMs, maxEjectionPercent } = spec
  const isOff = consecutive5xxErrors === 0
  return create(OutlierDetectionSchema, {
    ...(isOff ? { enforcingConsecutive5xx: 0 } : {}),
    ...(isOff || consecutive5xxErrors === undefined ? {} : { consecutive5xx: consecutive5xxErrors }),
    ...(consecutiveGatewayErrors === 0
      ? {}
      : { consecutiveGatewayFailure: consecutiveGatewayErrors, enforcingConsecutiveGatewayFailure: 100 }),
    ...(intervalMs === undefined ? {} : { interval: durationFromMs(intervalMs) }),
    ...(baseEjectionMs === undefined ? {} : { baseEjectionTime: durationFromMs(baseEjectionMs) }),
    ...(maxEjectionPercent === undefined ? {} : { maxEjectionPercent }),
    enforcingSuccessRate: 0,
    enforcingFailurePercentage: 0,
  })
}
