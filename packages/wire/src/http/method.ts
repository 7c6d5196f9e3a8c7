// SPDX-License-Identifier: Apache-2.0
// Any token is a method, compared case-sensitively (RFC 9110 section 9.1). A method that differs from a common one only
// in case is rejected: a rule on `POST` would not match `post`, and some applications treat them alike.

import { METHODS } from "node:http"
import { TOKEN } from "./characters.js"
import type { HttpError } from "./http-error.js"

const COMMON: ReadonlySet<string> = new Set(METHODS)

/** Undefined if a request with this method can be evaluated and forwarded. */
export function methodError(method: string): HttpError | undefined {
  if (method === "CONNECT") return "connect-rejected"
  if (COMMON.has(method)) return undefined
  if (method === "") return "bad-request-line"
  for (let at = 0; at < method.length; at++) {
    if (TOKEN[method.charCodeAt(at)] !== 1) return "bad-request-line"
  }
  return COMMON.has(method.toUpperCase()) ? "unknown-method" : undefined
}
