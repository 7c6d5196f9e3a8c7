// SPDX-License-Identifier: Apache-2.0
// What a response says about its endpoint's health. A failed gRPC call has status 200 and a grpc-status, either in the
// head of a response without content or in its trailers; it counts as the equivalent HTTP status.

import type { Fields, ResponseHead } from "@merlon/wire/http"
import type { EndpointOutcome } from "../balance/outlier-detector.js"

/**
 * Envoy's mapping: unknown, deadline exceeded, unimplemented, internal, unavailable, data loss. Other codes are errors
 * of the caller.
 */
const GRPC_STATUS: { readonly [status: string]: number } = { 2: 500, 4: 504, 12: 501, 13: 500, 14: 503, 15: 500 }

/** `fields`: the headers or trailers that may contain the grpc-status. */
export function outcomeOf(status: number, fields: Fields | undefined): EndpointOutcome {
  const [grpc] = status === 200 ? (fields?.get("grpc-status") ?? []) : []
  const meant = grpc === undefined ? status : (GRPC_STATUS[grpc] ?? status)
  if (meant < 500) return "success"
  return meant >= 502 && meant <= 504 ? "gateway" : "5xx"
}

export function isGrpcWithoutStatus({ status, headers }: ResponseHead): boolean {
  if (status !== 200) return false
  const [type] = headers.get("content-type") ?? []
  return type?.startsWith("application/grpc") === true && headers.get("grpc-status") === undefined
}
