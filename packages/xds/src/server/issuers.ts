// SPDX-License-Identifier: Apache-2.0
// The issuers of client certificates, up to the root. All proxies have the same few issuers, and building a chain in
// Node is slow, so a known issuer is recognised by its key: certificates that it signed chain to the same root.

import type { X509Certificate } from "node:crypto"
import { readBundle, readCertificates, signerOf } from "@merlon/identity"

export interface Issuer {
  /** PEM, from the issuer of the leaf up to the root. */
  readonly chain: string
  /** SHA-256 of the DER of the root, in lower-case hex. */
  readonly root: string
}

interface KnownIssuer {
  readonly issuer: Issuer
  readonly certificate: X509Certificate
  /** With another bundle, the same issuer may chain to another root. */
  readonly trustBundle: string
}

const MAX_CHAIN = 10
const MOST_KNOWN = 32
const known: KnownIssuer[] = []

/**
 * The issuer of a leaf whose chain OpenSSL has verified on this connection; its intermediates are those that the peer
 * presented.
 */
export function issuerOf(leaf: X509Certificate, trustBundle: string): Issuer {
  // INVARIANT: an issuer is never recognised only by name. Two roots may share a name, and one of them may become
  // untrusted.
  const found = known.find(each => each.trustBundle === trustBundle && isIssued(leaf, each.certificate))
  return found?.issuer ?? learned(leaf, trustBundle)
}

/**
 * Remembers the issuer of the control plane's own chain, leaf first: in a resumed session no peer presents an
 * intermediate certificate, and proxies usually have the same one.
 */
export function rememberOwnIssuer(pemChain: string, trustBundle: string): void {
  const read = readCertificates(pemChain)
  const issuers = read.ok ? read.certificates.slice(1) : []
  const chain = issuers.map(({ pem }) => pem).join("")
  const root = chain === "" ? undefined : signerOf(chain, trustBundle)
  const [issuer] = issuers
  if (issuer !== undefined && root !== undefined) remember({ chain, root }, issuer.certificate, trustBundle)
}

/**
 * INVARIANT: presented certificates count only if they chain to one of our roots, signature by signature. Any client
 * can create a certificate with the name and the key of an authority and claim another issuer, and it would be
 * remembered for all.
 */
function learned(leaf: X509Certificate, trustBundle: string): Issuer {
  const read = readBundle(trustBundle)
  const roots = read.ok ? read.certificates : []
  const between: X509Certificate[] = []
  let certificate = leaf
  while (between.length < MAX_CHAIN) {
    const subject = certificate
    const root = roots.find(each => isIssued(subject, each.certificate))
    if (root !== undefined) {
      const chain = [...between, root.certificate]
      const found: Issuer = { chain: chain.map(({ raw }) => pemOf(raw)).join(""), root: root.fingerprint }
      remember(found, chain[0] ?? root.certificate, trustBundle)
      return found
    }
    // Undefined in a resumed session, contrary to its type.
    const issuer: X509Certificate | undefined = subject.issuerCertificate
    if (issuer?.ca !== true || !isIssued(subject, issuer)) break
    between.push(issuer)
    certificate = issuer
  }
  return { chain: "", root: fingerprintOf(leaf) }
}

function isIssued(subject: X509Certificate, issuer: X509Certificate): boolean {
  return subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
}

function remember(issuer: Issuer, certificate: X509Certificate, trustBundle: string): void {
  const { fingerprint256 } = certificate
  const isThat = (each: KnownIssuer): boolean =>
    each.certificate.fingerprint256 === fingerprint256 && each.trustBundle === trustBundle
  if (known.some(isThat)) return
  if (known.length >= MOST_KNOWN) known.length = 0
  known.push({ issuer, certificate, trustBundle })
}

function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(":", "").toLowerCase()
}

export function pemOf(der: Uint8Array): string {
  const lines =
    Buffer.from(der.buffer, der.byteOffset, der.byteLength)
      .toString("base64")
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`
}
