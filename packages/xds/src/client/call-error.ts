// SPDX-License-Identifier: Apache-2.0
// Why a unary call failed: the control plane's message or, if it gave none, gRPC's.

import { type CallErrorCode, XDS_ERRORS } from "../errors.js"

export class MeshCallError extends Error {
  override readonly name = "MeshCallError"
  /** A gRPC status: `UNAVAILABLE`, `PERMISSION_DENIED`. */
  readonly code: CallErrorCode

  constructor(code: CallErrorCode, message: string) {
    super(message)
    this.code = code
  }

  static of(code: string | undefined, message: string): MeshCallError {
    return new MeshCallError(isCallErrorCode(code) ? code : "UNKNOWN", message)
  }
}

function isCallErrorCode(code: string | undefined): code is CallErrorCode {
  return code !== undefined && Object.hasOwn(XDS_ERRORS, code)
}
