// SPDX-License-Identifier: Apache-2.0
// Decides whether a failed request may be retried. A request that no application has seen may be, whatever its method.
// One that an application may have acted on is retried only if that is safe (RFC 9110 section 9.2.2) or a MeshService
// allows it, and only under the conditions it names.

import { neverProcessed, type UpstreamFailure } from "@merlon/wire/http"
import type { RetrySpec } from "@merlon/xds"

/**
 * `failure`: there is no response. `too-slow`: the response did not begin within the time limit of one attempt.
 * `response`: there is one; `notForwarded` means that the server's proxy sent it itself, because it could not reach the
 * application.
 */
export type Outcome =
  | { readonly kind: "failure"; readonly failure: UpstreamFailure }
  | { readonly kind: "too-slow" }
  | {
      readonly kind: "response"
      readonly status: number
      readonly notForwarded: boolean
      readonly grpcStatus: string | undefined
    }

/** Every client sees resets of stale connections, which the server closes while a request is being written. */
export const DEFAULT_RETRIES: RetrySpec = { attempts: 2, retryOn: ["reset"], nonIdempotent: false }

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

/** Status codes as in https://grpc.io/docs/guides/status-codes/. */
const GRPC_CONDITIONS: { readonly [status: string]: string } = {
  1: "cancelled",
  4: "deadline-exceeded",
  8: "resource-exhausted",
  13: "internal",
  14: "unavailable",
}

/** INVARIANT: true only if no application can have read a byte of the request. */
export function isUnseen(outcome: Outcome): boolean {
  if (outcome.kind === "failure") return neverProcessed(outcome.failure)
  return outcome.kind === "response" && outcome.status === 503 && outcome.notForwarded
}

export function isRetryable(outcome: Outcome, method: string, { retryOn, nonIdempotent }: RetrySpec): boolean {
  if (isUnseen(outcome)) return true
  if (!nonIdempotent && !IDEMPOTENT.has(method)) return false
  return conditionsOf(outcome).some(condition => retryOn.includes(condition))
}

function conditionsOf(outcome: Outcome): readonly string[] {
  switch (outcome.kind) {
    case "failure":
      return outcome.failure === "reset" ? ["reset", "5xx"] : ["5xx", "gateway-error"]
    case "too-slow":
      return ["reset", "5xx", "gateway-error", "504"]
    case "response":
      return responseConditions(outcome.status, outcome.grpcStatus)
  }
}

function responseConditions(status: number, grpcStatus: string | undefined): readonly string[] {
  const conditions = [String(status)]
  if (status >= 500) conditions.push("5xx")
  if (status >= 502 && status <= 504) conditions.push("gateway-error")
  if (status === 409) conditions.push("retriable-4xx")
  const grpc = grpcStatus === undefined ? undefined : GRPC_CONDITIONS[grpcStatus]
  return grpc === undefined ? conditions : [...conditions, grpc]
}
