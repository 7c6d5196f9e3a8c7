// SPDX-License-Identifier: Apache-2.0
// Who signed the certificates of clients, up to the root. All proxies have the same few issuers, and Node takes long to tell a
// chain, so an issuer that was seen once is known again by its key: what that has signed leads to the same root.

import type { KeyObject, X509Certificate } from "node:crypto"
import { X509Certificate as Certificate } from "node:crypto"
import type { DetailedPeerCertificate, TLSSocket } from "node:tls"
import { readCertificates, signerOf } from "@merlon/identity"

export interface Issuer {
  /** PEM, from the issuer of the leaf up to the root. */
  readonly chain: string
  /** SHA-256 of the DER of the root, in lower-case hex. */
  readonly root: string
}

interface KnownIssuer extends Issuer {
  readonly certificate: X509Certificate
  readonly key: KeyObject
}

const MAX_CHAIN = 10
const MOST_KNOWN = 32
const known: KnownIssuer[] = []

/** Of a leaf whose chain OpenSSL has found to be good on this connection. */
export function issuerOf(leaf: X509Certificate, socket: TLSSocket): Issuer {
  // INVARIANT: not by names alone, which two roots may share: one of them may be trusted no more tomorrow.
  const found = known.find(({ certificate, key }) => leaf.checkIssued(certificate) && leaf.verify(key))
  return found ?? learned(leaf, socket.getPeerCertificate(true))
}

/**
 * Of the chain, leaf first, that a control plane shows of itself: where a session is resumed nobody shows an intermediate
 * certificate, and those of proxies are as a rule of the same one.
 */
export function learnOwn(pemChain: string, trustBundle: string): void {
  const read = readCertificates(pemChain)
  const issuers = read.ok ? read.certificates.slice(1) : []
  const chain = issuers.map(({ pem }) => pem).join("")
  const root = chain === "" ? undefined : signerOf(chain, trustBundle)
  const [issuer] = issuers
  if (issuer !== undefined && root !== undefined) remember({ chain, root }, issuer.certificate)
}

function learned(leaf: X509Certificate, peer: DetailedPeerCertificate): Issuer {
  const blocks: string[] = []
  let certificate = peer
  while (blocks.length < MAX_CHAIN) {
    // Absent where the chain ends without its root, whatever the types say; a root is its own issuer.
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate
    if (issuer === undefined || issuer.fingerprint256 === certificate.fingerprint256) break
    blocks.push(pemOf(issuer.raw))
    certificate = issuer
  }
  const found: Issuer = {
    chain: blocks.join(""),
    root: fingerprintOf(certificate),
  }
  const [first] = blocks
  if (first === undefined) return found
  const issuer = new Certificate(first)
  // Of a session that is resumed OpenSSL has looked at no signature today, and tells an issuer by its name.
  if (!leaf.verify(issuer.publicKey)) return { chain: "", root: fingerprintOf(peer) }
  remember(found, issuer)
  return found
}

function remember(issuer: Issuer, certificate: X509Certificate): void {
  if (known.some(({ certificate: { fingerprint256 } }) => fingerprint256 === certificate.fingerprint256)) return
  if (known.length >= MOST_KNOWN) known.length = 0
  known.push({ ...issuer, certificate, key: certificate.publicKey })
}

function fingerprintOf({ fingerprint256 }: DetailedPeerCertificate): string {
  return fingerprint256.replaceAll(":", "").toLowerCase()
}

export function pemOf(der: Uint8Array): string {
  const lines =
    Buffer.from(der.buffer, der.byteOffset, der.byteLength)
      .toString("base64")
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`
}
