// SPDX-License-Identifier: Apache-2.0
// Whether a peer that was accepted under one trust bundle would be accepted under another. OpenSSL does this in the
// handshake; this is for connections that are open when a root is removed.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** Longer ones no handshake has admitted. */
const MOST_CERTIFICATES = 10

/** A peer's certificate, and those it was shown with. */
export interface PeerChain {
  readonly leaf: X509Certificate
  readonly issuer: X509Certificate | undefined
}

/** Undefined where the peer has gone. Only the first look at a handshake tells what came along: `issuer` is what that one saw. */
export function peerChain(socket: Socket, issuer: X509Certificate | undefined): PeerChain | undefined {
  const leaf = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
  return leaf && { leaf, issuer }
}

/** Fails closed: what does not lead to a root, in the order in which it was sent, is not trusted. */
export function isTrusted(chain: PeerChain | undefined, roots: readonly X509Certificate[]): boolean {
  let certificate = chain?.leaf
  for (let seen = 0; certificate !== undefined && seen < MOST_CERTIFICATES; seen++) {
    const subject: X509Certificate = certificate
    if (roots.some(root => subject.fingerprint256 === root.fingerprint256 || isIssued(subject, root))) return true
    const issuer: X509Certificate | undefined = seen === 0 ? chain?.issuer : subject.issuerCertificate
    certificate = issuer?.ca === true && isIssued(subject, issuer) ? issuer : undefined
  }
  return false
}

function isIssued(subject: X509Certificate, issuer: X509Certificate): boolean {
  return subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
}
