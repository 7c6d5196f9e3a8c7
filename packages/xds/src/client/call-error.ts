// SPDX-License-Identifier: Apache-2.0
// Why a call beside the stream failed, in the control plane's words or, where it gave none, in gRPC's.

export class MeshCallError extends Error {
  override readonly name = "MeshCallError"
  /** In the words of gRPC: `UNAVAILABLE`, `PERMISSION_DENIED`. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
