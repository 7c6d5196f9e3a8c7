// SPDX-License-Identifier: Apache-2.0
// Maps the many errors of OpenSSL and Node to the few values of a metric label.

import type { TlsFailure } from "../observe/meters.js"

/** `verification` is Node's result for the chain (`authorizationError`), if the handshake got that far. */
export function tlsFailureOf(error: Error, verification: unknown): TlsFailure {
  // The types say Error, but at run time it is a code. Either is set only if the chain did not verify.
  if (verification instanceof Error) return "untrusted"
  if (typeof verification === "string") return verificationFailure(verification)
  const code = "code" in error ? String(error.code) : ""
  if (code === "ERR_TLS_HANDSHAKE_TIMEOUT") return "timeout"
  if (code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") return "no-certificate"
  return code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") ? "protocol" : "other"
}

function verificationFailure(code: string): TlsFailure {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return "expired"
    case "CERT_NOT_YET_VALID":
      return "not-yet-valid"
    default:
      // An issuer that is not in the bundle, an invalid signature, or a wrong purpose: no trusted authority issued it.
      return "untrusted"
  }
}
