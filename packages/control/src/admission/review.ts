// SPDX-License-Identifier: Apache-2.0
// The AdmissionReview envelope (admission.k8s.io/v1). Its contents are untrusted until they are parsed here.

import type { AdmissionErrorCode } from "../errors.js"
import { objectOf, textOf } from "../registry/foreign.js"

/** The user as which a cluster deletes the objects of a deleted namespace. */
export const NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"

export interface AdmissionRequest {
  readonly uid: string
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT"
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Empty for objects without a namespace. */
  readonly namespace: string
  /** Empty if the API server will generate one. */
  readonly name: string
  readonly subresource: string
  /** The user, as the API server reports; empty if it does not. */
  readonly user: string
  /** Nothing is stored, whatever the answer is. */
  readonly dryRun: boolean
  readonly object: unknown
  readonly oldObject: unknown
}

export interface PatchOperation {
  readonly op: "add" | "replace" | "remove"
  readonly path: string
  readonly value?: unknown
}

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

export interface Rejected {
  /** Code of the error catalogue; the message for users ends with it. */
  readonly error: AdmissionErrorCode
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: {
    readonly name: string
    readonly group: string
    readonly kind: string
    readonly causes: readonly StatusCause[]
  }
}

export interface AdmissionAnswer {
  /** Allowed if undefined. */
  readonly rejected?: Rejected
  readonly warnings?: readonly string[]
  readonly patch?: readonly PatchOperation[]
}

const API_VERSION = "admission.k8s.io/v1"
const OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const
const MAX_UID = 128
/** The API server may cut longer ones, and ignores all beyond 4096 characters in total. */
const MAX_WARNING = 256
const MAX_WARNINGS = 12

/** The request, or a string with its error. */
export function readReview(body: string): AdmissionRequest | string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return "the body is not JSON"
  }
  const review = objectOf(value)
  if (review.kind !== "AdmissionReview") return "the body is not an AdmissionReview"
  if (review.apiVersion !== API_VERSION) return `only \`${API_VERSION}\` is supported`
  const request = objectOf(review.request)
  const uid = textOf(request.uid)
  if (uid === undefined || uid.length > MAX_UID) return "`request.uid` is missing or too long"
  const operation = OPERATIONS.find(known => known === request.operation)
  if (operation === undefined) return "`request.operation` must be CREATE, UPDATE, DELETE or CONNECT"
  const { group, version, kind } = objectOf(request.kind)
  if (typeof group !== "string" || textOf(version) === undefined || textOf(kind) === undefined) {
    return "`request.kind` must name group, version and kind"
  }
  return {
    uid,
    operation,
    group,
    version: textOf(version) ?? "",
    kind: textOf(kind) ?? "",
    namespace: textOf(request.namespace) ?? "",
    name: textOf(request.name) ?? "",
    subresource: textOf(request.subResource) ?? "",
    user: textOf(objectOf(request.userInfo).username) ?? "",
    dryRun: request.dryRun === true,
    object: request.object,
    oldObject: request.oldObject,
  }
}

export function writeReview(uid: string, { rejected, warnings = [], patch = [] }: AdmissionAnswer): string {
  const shown = shortened(warnings)
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: rejected === undefined,
      ...(rejected === undefined ? {} : { status: statusOf(rejected) }),
      ...(shown.length === 0 ? {} : { warnings: shown }),
      ...(rejected !== undefined || patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
    },
  })
}

function statusOf({ error, message, ...rejected }: Rejected): object {
  return { status: "Failure", ...rejected, message: `${message} [${error}]` }
}

/** Removes duplicates, joins lines and limits the number of warnings. */
function shortened(warnings: readonly string[]): readonly string[] {
  const lines = [...new Set(warnings.map(warning => warning.replace(/\s+/g, " ").trim()))]
  const shown = lines
    .slice(0, MAX_WARNINGS)
    .map(line => (line.length > MAX_WARNING ? `${line.slice(0, MAX_WARNING - 1)}…` : line))
  const more = lines.length - shown.length
  return more === 0 ? shown : [...shown, `and ${more} more`]
}

/** A name for messages, since the object may not have one yet. */
export function nameOf({ name, object, oldObject }: AdmissionRequest): string {
  // In a bulk deletion, only the object has a name.
  const { name: written, generateName } = objectOf(objectOf(object ?? oldObject).metadata)
  return name || (textOf(written) ?? textOf(generateName) ?? "")
}
