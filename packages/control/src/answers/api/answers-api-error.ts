// SPDX-License-Identifier: Apache-2.0
// The error of a query that cannot be answered, as a Kubernetes Status.

export class AnswersApiError extends Error {
  override readonly name = "AnswersApiError"

  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(message)
  }
}

export const badRequest = (message: string): AnswersApiError => new AnswersApiError(400, "BadRequest", message)
export const notFound = (message: string): AnswersApiError => new AnswersApiError(404, "NotFound", message)
export const tooMany = (message: string): AnswersApiError => new AnswersApiError(429, "TooManyRequests", message)

export function statusOf({ code, reason, message }: AnswersApiError): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code }
}
