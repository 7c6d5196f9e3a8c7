// SPDX-License-Identifier: Apache-2.0
// The certificate a server has shown. Not by `getPeerX509Certificate`: on a client's side that takes the certificate out
// of the chain, so that a second call finds the next one up, or none.

import type { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"
import { parseCertificate } from "@merlon/identity"

export function serverCertificate(socket: TLSSocket): X509Certificate | undefined {
  // Empty where there is none, whatever the types say.
  const raw: Buffer | undefined = socket.getPeerCertificate().raw
  return raw === undefined ? undefined : parseCertificate(raw)
}
