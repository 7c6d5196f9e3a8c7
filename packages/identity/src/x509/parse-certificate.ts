// SPDX-License-Identifier: Apache-2.0
// Parses a certificate from DER only.

import { X509Certificate } from "node:crypto"

/** Undefined where the bytes are not one certificate and nothing else. */
export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der)
    // OpenSSL ignores what follows the certificate, and Node looks for a PEM text anywhere in the bytes before it reads
    // them as DER: a certificate may contain another one as text.
    return certificate.raw.equals(der) ? certificate : undefined
  } catch {
    return undefined
  }
}
