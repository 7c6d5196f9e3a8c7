// SPDX-License-Identifier: Apache-2.0
// Why a unary call failed, in the control plane's words or, if it gave none, in gRPC's.

import { type CallErrorCode, XDS_ERRORS } from "../errors.js"

export class MeshCallError extends Error {
  override readonly name = "MeshCallError"
  /** In the words of gRPC: `UNAVAILABLE`, `PERMISSION_DENIED`. */
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
