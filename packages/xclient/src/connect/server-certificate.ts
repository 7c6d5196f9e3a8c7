// SPDX-License-Identifier: Apache-2.0
// The certificate of a server. `getPeerX509Certificate` is not used: on the client side it removes the certificate from
// the chain, so that a second call returns the next one up, or none.

import type { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"
import { parseCertificate } from "@merlon/identity"

export function serverCertificate(socket: TLSSocket): X509Certificate | undefined {
  // Undefined if there is none, whatever the types say.
  const raw: Buffer | undefined = socket.getPeerCertificate().raw
  return raw === undefined ? undefined : parseCertificate(raw)
}
