// SPDX-License-Identifier: Apache-2.0
// The reason for which a call got no response, by a code of the table in errors.ts.

import { messageOf } from "@merlon/xds/runtime"
import { type CallFailureCode, XCLIENT_ERRORS } from "../errors.js"

export class CallFailure extends Error {
  override readonly name = "CallFailure"
  readonly code: CallFailureCode

  constructor(code: CallFailureCode, message: string) {
    super(message)
    this.code = code
  }

  get status(): number {
    return XCLIENT_ERRORS[this.code].status
  }

  static registryOnly(name: string): CallFailure {
    const why = `the outbound policy is REGISTRY_ONLY, and ${name} is neither in the cluster nor named by a MeshService`
    return new CallFailure("registry-only", why)
  }

  /** `limits`: field names of the MeshService. */
  static overflow(name: string, limits: readonly string[]): CallFailure {
    const fields = limits.map(limit => `\`${limit}\``).join(" and ")
    return new CallFailure("overflow", `\`${name}\` is at the limit of its MeshService's connectionPool (${fields})`)
  }

  static of(error: unknown): CallFailure {
    if (error instanceof CallFailure) return error
    return new CallFailure("cut-off", messageOf(error))
  }
}
