// SPDX-License-Identifier: Apache-2.0
// Everything that can be wrong with papers, by code. What strangers send is answered with values; these are thrown where
// the mesh's own material or its own call is at fault.

export type IdentityErrorCode =
  /** A certificate, chain, key or bundle that cannot be used as what it was given for. */
  | "bad-material"
  /** The signing certificate, or one above it, is outside its dates. */
  | "expired-signer"
  /** What was asked to be signed is not something the mesh signs. */
  | "bad-subject"

export class IdentityError extends Error {
  override readonly name = "IdentityError"
  readonly code: IdentityErrorCode

  constructor(code: IdentityErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
