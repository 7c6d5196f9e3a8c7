// SPDX-License-Identifier: Apache-2.0
// Parses the headers and trailers of a gRPC response (gRPC over HTTP/2, "Responses").

import type { Http2Field as Field } from "@merlon/wire"
import { readMessage, statusName } from "../../wire/status.js"

/** How a call ended: a gRPC status code and its message. */
export interface CallEnd {
  readonly code: string
  readonly message: string
}

/** `informational`: the final head is still to come. */
export type ResponseHead = "grpc" | "informational" | CallEnd

/**
 * https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md: statuses of HTTP servers between the client
 * and the control plane.
 */
const BY_HTTP: { readonly [status: string]: string } = {
  400: "INTERNAL",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  429: "UNAVAILABLE",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
}

const MALFORMED: CallEnd = { code: "INTERNAL", message: "the response headers cannot be read" }

export function readResponseHead(fields: readonly Field[]): ResponseHead {
  let status: string | undefined
  let contentType: string | undefined
  for (const { name, value, error } of fields) {
    if (error !== undefined) return MALFORMED
    if (name === ":status") status ??= value
    else if (name === "content-type") contentType ??= value
  }
  if (status === undefined || !/^[1-5]\d\d$/.test(status)) return MALFORMED
  if (status.startsWith("1")) return "informational"
  if (status !== "200") {
    return { code: BY_HTTP[status] ?? "UNKNOWN", message: `the response is HTTP ${status}, not gRPC` }
  }
  if (contentType !== undefined && /^application\/grpc($|[+;])/.test(contentType)) return "grpc"
  return { code: "UNKNOWN", message: `the response is \`${contentType ?? "nothing"}\`, not gRPC` }
}

/** Reads the status from trailers, or from a response that consists only of a head. */
export function readEnd(fields: readonly Field[]): CallEnd {
  let code: string | undefined
  let message = ""
  for (const { name, value, error } of fields) {
    if (error !== undefined) return MALFORMED
    if (name === "grpc-status") code ??= value
    else if (name === "grpc-message") message ||= value
  }
  if (code === undefined) return { code: "UNKNOWN", message: "the response ended without a status" }
  return { code: statusName(code), message: readMessage(message) }
}
