// SPDX-License-Identifier: Apache-2.0
// The certificate a server has shown. Not by `getPeerX509Certificate`: on a client's side that takes the certificate out
// of the chain, so that a second call finds the next one up, or none.

import { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"

export function serverCertificate(socket: TLSSocket): X509Certificate | undefined {
  // Empty where there is none, whatever the types say.
  const raw: Buffer | undefined = socket.getPeerCertificate().raw
  return raw === undefined ? undefined : readCertificate(raw)
}

/** Undefined where the bytes are not one certificate and nothing else. */
export function readCertificate(raw: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(raw)
    // Node looks for a PEM text anywhere in the bytes first. In a certificate somebody may have put that of another.
    return certificate.raw.equals(raw) ? certificate : undefined
  } catch {
    return undefined
  }
}
