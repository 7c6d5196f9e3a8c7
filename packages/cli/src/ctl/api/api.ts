// SPDX-License-Identifier: Apache-2.0
// What the commands ask of a Kubernetes API. It differs from what the control plane asks: people want tables, warnings,
// dry runs, and to hear about a conflict instead of winning it.

import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
}

export interface Api {
  /** The body as JSON. Every failure is an `ApiFailure`. Warnings of the server are told as they come. */
  request(request: ApiRequest): Promise<unknown>
  /** The lines of a body that has no end. */
  lines(request: ApiRequest, signal: AbortSignal): AsyncIterable<string>
  close(): void
}

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

/** What the server answered, or that it did not. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure"
  /** HTTP status; 0 where no answer came. */
  readonly code: number
  /** As Kubernetes words it: `NotFound`, `Conflict`. */
  readonly reason: string
  readonly causes: readonly StatusCause[]

  constructor(code: number, reason: string, message: string, causes: readonly StatusCause[] = []) {
    super(message)
    this.code = code
    this.reason = reason
    this.causes = causes
  }
}

const MAX_TEXT = 2_000

/** Of a Status body, or of whatever something in front of the server answered. */
export function failureOf(code: number, text: string): ApiFailure {
  const status = statusOf(text)
  if (typeof status?.message !== "string") {
    return new ApiFailure(
      code,
      `HTTP ${code}`,
      `the API server answered ${code}: ${text.slice(0, 200).trim() || "no text"}`,
    )
  }
  return new ApiFailure(
    typeof status.code === "number" && code === 0 ? status.code : code,
    typeof status.reason === "string" && status.reason !== "" ? status.reason : `HTTP ${code}`,
    short(status.message),
    listOf(fieldsOf(status.details).causes).map(causeOf),
  )
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

function statusOf(text: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

function causeOf(value: unknown): StatusCause {
  const { reason, message, field } = fieldsOf(value)
  return { reason: textOf(reason) ?? "", message: textOf(message) ?? "", field: textOf(field) ?? "" }
}
