// SPDX-License-Identifier: Apache-2.0
// Errors of certificates and keys: one closed table of codes, each with its cause and its fix. Untrusted input results
// in values; these errors are thrown if the mesh's own certificates and keys, or a call to this package, are wrong.

export const IDENTITY_ERRORS = {
  "bad-material": {
    cause: "a certificate, chain, key or trust bundle is malformed, or its parts do not belong together",
    fix: "pass PEM: a chain that ends at the root, and the private key of its first certificate; the message says which part is wrong",
  },
  "expired-signer": {
    cause: "the signing certificate, or an issuer above it, is expired or not yet valid",
    fix: "check the clock; if it is right, renew that certificate",
  },
  "bad-subject": {
    cause: "the subject or lifetime in a signing request is not one that the mesh signs",
    fix: "request a SPIFFE ID or host names, and a lifetime greater than zero",
  },
} as const satisfies Record<string, { readonly cause: string; readonly fix: string }>

export type IdentityErrorCode = keyof typeof IDENTITY_ERRORS

export class IdentityError extends Error {
  override readonly name = "IdentityError"
  readonly code: IdentityErrorCode

  constructor(code: IdentityErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
