// SPDX-License-Identifier: Apache-2.0
// Checks whether a peer that was accepted under one trust bundle would be accepted under another. OpenSSL does this in
// the handshake; this is for connections that are open when a root is removed.

import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import { TLSSocket } from "node:tls"

/** No handshake accepts a longer chain. */
const MOST_CERTIFICATES = 10

/** A peer's certificate, and the certificates that it sent along. */
export interface PeerChain {
  readonly leaf: X509Certificate
  readonly issuer: X509Certificate | undefined
}

/**
 * Undefined if the peer has disconnected. Node returns the peer's chain only to the first reader after a handshake;
 * `issuer` is what that reader got.
 */
export function peerChain(socket: Socket, issuer: X509Certificate | undefined): PeerChain | undefined {
  const leaf = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
  return leaf && { leaf, issuer }
}

/** Fails closed: a chain that does not lead to a root, in the order in which it was sent, is not trusted. */
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
