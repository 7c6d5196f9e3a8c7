// SPDX-License-Identifier: Apache-2.0
// Why a call did not get an answer: a closed list of codes, each with the status a proxy replies with.

export const CALL_FAILURES = {
  "no-route": 502,
  "not-in-mesh": 502,
  "route-unknown": 503,
  "no-endpoint": 503,
  "no-transport": 503,
  unreachable: 503,
  "cut-off": 502,
  "bad-request": 400,
  "too-late": 504,
  "too-many": 503,
} as const

export type CallFailureCode = keyof typeof CALL_FAILURES

export class CallFailure extends Error {
  override readonly name = "CallFailure"
  readonly code: CallFailureCode
  /** Whether the connection broke before there was an answer. */
  readonly isReset: boolean

  constructor(code: CallFailureCode, message: string, isReset = false) {
    super(message)
    this.code = code
    this.isReset = isReset
  }

  get status(): number {
    return CALL_FAILURES[this.code]
  }

  static of(error: unknown): CallFailure {
    if (error instanceof CallFailure) return error
    const message = error instanceof Error ? error.message : String(error)
    const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
    // What node:http does not want to send is the caller's fault.
    if (typeof code === "string" && code.startsWith("ERR_INVALID")) return new CallFailure("bad-request", message)
    return new CallFailure("cut-off", message, code === "ECONNRESET" || code === "EPIPE")
  }
}
