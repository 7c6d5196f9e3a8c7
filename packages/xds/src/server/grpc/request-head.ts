// SPDX-License-Identifier: Apache-2.0
// Parses the head of a gRPC call (RFC 9113 section 8.3; gRPC over HTTP/2, "Requests"): its method and credentials.

import type { Http2Field as Field } from "@merlon/wire"
import type { CallHead } from "./call.js"

/** `malformed` is a stream error; a number is the HTTP status of a response without gRPC. */
export type HeadError = "malformed" | 405 | 415

const PSEUDO: ReadonlySet<string> = new Set([":method", ":scheme", ":path", ":authority"])

export function readHead(fields: readonly Field[]): CallHead | HeadError {
  const pseudo = new Map<string, string>()
  let contentType: string | undefined
  let authorization: string | undefined
  let regular = false
  for (const { name, value, error, pseudo: isPseudo } of fields) {
    if (error !== undefined) return "malformed"
    if (isPseudo) {
      if (regular || !PSEUDO.has(name) || pseudo.has(name)) return "malformed"
      pseudo.set(name, value)
    } else {
      regular = true
      if (name === "content-type") contentType ??= value
      else if (name === "authorization") authorization ??= value
    }
  }
  const path = pseudo.get(":path")
  const method = pseudo.get(":method")
  if (path === undefined || method === undefined || !pseudo.has(":scheme")) return "malformed"
  if (method !== "POST") return 405
  if (contentType === undefined || !/^application\/grpc($|[+;])/.test(contentType)) return 415
  return { path, authorization }
}
