// SPDX-License-Identifier: Apache-2.0
// Whether a peer that was let in under one trust bundle would be let in under another. The handshake is OpenSSL's; this is
// asked only of connections that stand open when a root goes.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** Longer ones no handshake has let in. */
const MOST_CERTIFICATES = 10

/** The peer's certificate with those it sent along; undefined where it has gone. */
export function peerChain(socket: Socket): X509Certificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
}

/** Fails closed: what does not lead to a root, in the order in which it was sent, is not trusted. */
export function isTrusted(chain: X509Certificate | undefined, roots: readonly X509Certificate[]): boolean {
  let certificate = chain
  for (let seen = 0; certificate !== undefined && seen < MOST_CERTIFICATES; seen++) {
    const subject: X509Certificate = certificate
    if (roots.some(root => subject.fingerprint256 === root.fingerprint256 || isIssued(subject, root))) return true
    const issuer: X509Certificate | undefined = subject.issuerCertificate
    certificate = issuer !== undefined && isIssued(subject, issuer) ? issuer : undefined
  }
  return false
}

function isIssued(subject: X509Certificate, issuer: X509Certificate): boolean {
  return subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
}
