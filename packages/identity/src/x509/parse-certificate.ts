// SPDX-License-Identifier: Apache-2.0
// Parses a certificate from DER only.

import { X509Certificate } from "node:crypto"

/** Undefined if the bytes are not exactly one certificate. */
export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der)
    // OpenSSL ignores data after the certificate, and Node searches the bytes for PEM text before it parses them as
    // DER, so a certificate may contain another one as text.
    return certificate.raw.equals(der) ? certificate : undefined
  } catch {
    return undefined
  }
}
