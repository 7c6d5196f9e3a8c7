// SPDX-License-Identifier: Apache-2.0
// Why a query is not answered, as a Kubernetes Status.

export class ApiFault extends Error {
  override readonly name = "ApiFault"

  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(message)
  }
}

export const badRequest = (message: string): ApiFault => new ApiFault(400, "BadRequest", message)
export const notFound = (message: string): ApiFault => new ApiFault(404, "NotFound", message)
export const tooMany = (message: string): ApiFault => new ApiFault(429, "TooManyRequests", message)

export function statusOf({ code, reason, message }: ApiFault): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code }
}
