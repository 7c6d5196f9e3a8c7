// SPDX-License-Identifier: Apache-2.0
// Classifies a failed call to etcd: whether it certainly had no effect, whether a retry may help, and the error
// message. For a write, the difference between "did not happen" and "unknown" is essential.

import { type ServiceError, status } from "@grpc/grpc-js"
import { ClusterError } from "../../errors.js"

/** etcd's error texts, unchanged since 3.0. Only they distinguish these two errors from other OUT_OF_RANGE errors. */
const COMPACTED = "required revision has been compacted"
const FUTURE = "required revision is a future revision"

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error
}

export function isCompacted(error: unknown): boolean {
  return isServiceError(error) && error.details.includes(COMPACTED)
}

export function isFuture(error: unknown): boolean {
  return isServiceError(error) && error.details.includes(FUTURE)
}

/** The token is unknown to this member or has expired; logging in again helps. */
export function isStaleToken(error: unknown): boolean {
  return isServiceError(error) && error.code === status.UNAUTHENTICATED
}

/** The member or the network failed, so the same read may succeed elsewhere or later. */
export function isPassing(error: unknown): boolean {
  if (!isServiceError(error)) return false
  switch (error.code) {
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
    case status.CANCELLED:
    case status.INTERNAL:
    case status.UNKNOWN:
    case status.ABORTED:
      return true
    default:
      return false
  }
}

/** etcd evaluated the request and rejected it, so certainly nothing was written. */
function isRejection(error: ServiceError): boolean {
  switch (error.code) {
    case status.INVALID_ARGUMENT:
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
    case status.FAILED_PRECONDITION:
    case status.RESOURCE_EXHAUSTED:
    case status.UNIMPLEMENTED:
      return true
    default:
      return false
  }
}

export function readFailure(error: unknown): unknown {
  if (!isServiceError(error)) return error
  if (isRejection(error)) return rejected(error)
  return new ClusterError("store-unreachable", `etcd does not answer: ${error.details}`, { cause: error })
}

export function writeFailure(error: unknown): unknown {
  if (!isServiceError(error)) return error
  if (isRejection(error)) return rejected(error)
  // Fail closed: the write may have happened. The caller must read before it retries.
  return new ClusterError("store-uncertain", `etcd did not say whether the write happened: ${error.details}`, {
    cause: error,
  })
}

function rejected(error: ServiceError): ClusterError {
  return new ClusterError("store-rejected", `etcd rejected: ${error.details}`, { cause: error })
}
