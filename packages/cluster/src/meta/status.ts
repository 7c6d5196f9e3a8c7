// SPDX-License-Identifier: Apache-2.0
// Errors in Kubernetes' form: every rejection is an ApiError with a Status document and an HTTP status. The messages
// are those of Kubernetes; clients such as kubectl evaluate the reason and show the message.

import type { Json, JsonObject } from "../value.js"
import { aggregate, errorBody, errorReason, type FieldError } from "./field-error.js"

export interface GroupResource {
  readonly group: string
  /** Plural resource or kind, depending on the message. */
  readonly resource: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: JsonObject[]
  readonly retryAfterSeconds?: number
}

export class ApiError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details?: StatusDetails,
    readonly extra: JsonObject = {},
  ) {
    super(message)
  }

  toStatus(): JsonObject {
    const status: JsonObject = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
    }
    if (this.reason !== "") status.reason = this.reason
    const details = prune(this.details)
    if (details !== undefined) status.details = details
    status.code = this.code
    return { ...status, ...this.extra }
  }
}

function prune(details: StatusDetails | undefined): JsonObject | undefined {
  if (details === undefined) return undefined
  const out: JsonObject = {}
  if (details.name) out.name = details.name
  if (details.group) out.group = details.group
  if (details.kind) out.kind = details.kind
  if (details.uid) out.uid = details.uid
  if (details.causes !== undefined && details.causes.length > 0) out.causes = details.causes
  if (details.retryAfterSeconds) out.retryAfterSeconds = details.retryAfterSeconds
  return out
}

export function qualified({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`
}

const about = (gr: GroupResource, name: string): StatusDetails => ({ name, group: gr.group, kind: gr.resource })

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message)
export const unauthorized = (message = "Unauthorized"): ApiError => new ApiError(401, "Unauthorized", message)
export const notFound = (gr: GroupResource, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(gr)} "${name}" not found`, about(gr, name))
export const unknownResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {})
export const methodNotAllowed = (): ApiError =>
  new ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
export const methodNotSupported = (gr: GroupResource, verb: string): ApiError =>
  new ApiError(405, "MethodNotAllowed", `${verb} is not supported on resources of kind "${qualified(gr)}"`, {
    group: gr.group,
    kind: gr.resource,
  })
export const alreadyExists = (gr: GroupResource, name: string, prefix = ""): ApiError =>
  new ApiError(409, "AlreadyExists", `${prefix}${qualified(gr)} "${name}" already exists`, about(gr, name))
export const conflict = (gr: GroupResource, name: string, detail: string): ApiError =>
  new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(gr)} "${name}": ${detail}`,
    about(gr, name),
  )
export const modified = (gr: GroupResource, name: string): ApiError =>
  conflict(gr, name, "the object has been modified; please apply your changes to the latest version and try again")
export const forbiddenError = (gr: GroupResource, name: string, detail: string, causes?: JsonObject[]): ApiError => {
  const subject =
    gr.resource === "" && gr.group === ""
      ? "forbidden"
      : name === ""
        ? `${qualified(gr)} is forbidden`
        : `${qualified(gr)} "${name}" is forbidden`
  return new ApiError(403, "Forbidden", `${subject}: ${detail}`, { ...about(gr, name), ...(causes ? { causes } : {}) })
}
export const expired = (message: string): ApiError => new ApiError(410, "Expired", message)
export const tooLarge = (message: string): ApiError =>
  new ApiError(413, "RequestEntityTooLarge", `Request entity too large: ${message}`)
export const internal = (message: string): ApiError => new ApiError(500, "", message)
export const internalError = (message: string): ApiError =>
  new ApiError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] })
/**
 * Nothing was written, except perhaps the first half of a deletion, which a retry repeats. A retry is likely to
 * succeed, and Kubernetes clients retry automatically.
 */
export const serverTimeout = (message: string): ApiError =>
  new ApiError(500, "ServerTimeout", `The request could not be completed at this time, please try again: ${message}`, {
    retryAfterSeconds: 2,
  })
export const tooManyRequests = (message: string, retryAfterSeconds: number): ApiError =>
  new ApiError(429, "TooManyRequests", message, { retryAfterSeconds })
export const resourceVersionTooLarge = (wanted: string, current: number): ApiError =>
  new ApiError(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  })
export const unsupportedMediaType = (message: string): ApiError => new ApiError(415, "UnsupportedMediaType", message)
export const notAcceptable = (message: string): ApiError => new ApiError(406, "NotAcceptable", message)

export function invalidError(gk: GroupResource, name: string, errors: readonly FieldError[]): ApiError {
  const causes = errors.map(
    (error): JsonObject => ({
      reason: errorReason(error),
      message: errorBody(error),
      field: error.field,
    }),
  )
  return new ApiError(422, "Invalid", `${qualified(gk)} "${name}" is invalid: ${aggregate(errors)}`, {
    name,
    group: gk.group,
    kind: gk.resource,
    causes,
  })
}

export function success(details: StatusDetails): JsonObject {
  const out: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" }
  const pruned = prune(details)
  if (pruned !== undefined) out.details = pruned as Json
  return out
}
