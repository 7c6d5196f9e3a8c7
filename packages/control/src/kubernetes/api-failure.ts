// SPDX-License-Identifier: Apache-2.0
// Errors of the API in one form: the server's Status, or why there was no response.

import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { ApiError, type StatusCause } from "./client.js"
import { ConnectionError } from "./connection.js"

const MAX_TEXT = 2000

/** The error in a Status body, or in any other response of a server or of a proxy in front of it. */
export function statusError(code: number, body: unknown, text = ""): ApiError {
  const { reason, message, code: errorCode, details } = objectOf(body)
  if (typeof message !== "string") {
    return new ApiError(code, `HTTP ${code}`, `the API server answered ${code}${textSaid(text)}`)
  }
  return new ApiError(
    typeof errorCode === "number" && code === 0 ? errorCode : code,
    textOf(reason) ?? `HTTP ${code}`,
    short(message),
    listOf(objectOf(details).causes).map(causeOf),
  )
}

/** An HTML page comes from a proxy in front of the API, and does not fit into a one-line message. */
function textSaid(text: string): string {
  if (!/^\s*<(!doctype|html|head|body)\b/i.test(text)) return `: ${text.slice(0, 200).trim() || "no text"}`
  const title = /<title>\s*([^<]{1,100})/i.exec(text)?.[1]?.trim() ?? ""
  return ` with a page${title === "" ? "" : ` (${title})`}; a proxy or another server may be answering at this address`
}

/** The error of a request without a response. */
export function unreachable(server: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const failure = error instanceof Error ? error : new Error(String(error))
  if (failure instanceof ConnectionError) return ApiError.unanswered("api-no-credentials", failure.message)
  const errorCode = (failure as { code?: unknown }).code // Node's errors have a string, a DOMException has a number
  const code = typeof errorCode === "string" ? errorCode : failure.name
  // OpenSSL could not read a certificate or key, or they do not match. Nothing was sent yet.
  if (code.startsWith("ERR_OSSL_")) {
    const why = short(failure.message)
    return ApiError.unanswered("api-no-credentials", `a certificate or key for \`${server}\` cannot be used: ${why}`)
  }
  const timeout = /TIMEOUT|Timeout/.test(code)
  const why = timeout ? "it took too long" : short(failure.message || code)
  return ApiError.unanswered(
    timeout ? "api-timeout" : "api-unreachable",
    `no answer from the API server at \`${server}\`: ${why}${hint(code)}`,
  )
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

function causeOf(value: unknown): StatusCause {
  const { reason, message, field } = objectOf(value)
  return { reason: textOf(reason) ?? "", message: textOf(message) ?? "", field: textOf(field) ?? "" }
}

function hint(code: string): string {
  if (code === "ECONNREFUSED") return "; is it running?"
  if (/CERT|SELF_SIGNED|ISSUER|ALTNAME|UNABLE_TO/.test(code)) return "; check `certificate-authority` and the host name"
  return ""
}
