// SPDX-License-Identifier: Apache-2.0
// Everything that can be wrong with credentials: one closed table of codes, each with what happened and what to do. What
// strangers send is answered with values; these are thrown where the mesh's own material or its own call is at fault.

export const IDENTITY_FAULTS = {
  "bad-material": {
    means: "a certificate, chain, key or bundle cannot be used as what it was given for",
    next: "the message says what is wrong with it; give PEM of certificates that lead to the root, with the key that belongs to them",
  },
  "expired-signer": {
    means: "the signing certificate, or one above it, is outside its dates",
    next: "check the clock; where it is right, renew that certificate",
  },
  "bad-subject": {
    means: "what was asked to be signed is not something the mesh signs",
    next: "ask for a SPIFFE identity or host names, and for some time to live",
  },
} as const satisfies Record<string, { readonly means: string; readonly next: string }>

export type IdentityErrorCode = keyof typeof IDENTITY_FAULTS

export class IdentityError extends Error {
  override readonly name = "IdentityError"
  readonly code: IdentityErrorCode

  constructor(code: IdentityErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
