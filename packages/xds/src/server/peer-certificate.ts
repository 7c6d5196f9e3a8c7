// SPDX-License-Identifier: Apache-2.0
// What the certificate of a connection's other end says, once OpenSSL has found its chain to be good.

import type { TLSSocket } from "node:tls"
import { type CertifiedPod, certificateFacts, readBundle, signerOf } from "@merlon/identity"
import { parseSpiffeId, type SpiffeId } from "@merlon/policy"

export interface PeerCertificate {
  readonly id: SpiffeId
  /** The Pod it was signed for, where it was signed for one. */
  readonly pod: CertifiedPod | undefined
  /** Upper-case hex without leading zeros. */
  readonly serial: string
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /** PEM, leaf first, up to the root. */
  readonly chain: string
  /** SHA-256 of the DER of the root it was verified with, in lower-case hex. */
  readonly root: string
}

const MAX_CHAIN = 10

/** Undefined where there is no certificate, its chain does not lead to a root of ours, or it names no workload. */
export function peerCertificate(socket: TLSSocket): PeerCertificate | undefined {
  if (!socket.authorized) return undefined
  try {
    const { leaf, chain, root } = chainOf(socket)
    const { spiffeId, ...facts } = certificateFacts(leaf)
    const id = spiffeId === undefined ? undefined : parseSpiffeId(spiffeId)
    return id === undefined ? undefined : { ...facts, id, chain, root }
  } catch {
    // Fails closed: a certificate that we cannot read proves nothing, whatever OpenSSL makes of it.
    return undefined
  }
}

export function isCurrent({ notBefore, notAfter }: PeerCertificate, now: number): boolean {
  return notBefore <= now && now < notAfter
}

/** Whether a chain leads to a root of this bundle, which may be another one than it was verified with. */
export function trustIn(bundle: string): (certificate: PeerCertificate) => boolean {
  const read = readBundle(bundle)
  // Fails closed: whoever has a bundle that cannot be read trusts nobody.
  const roots = new Set(read.ok ? read.certificates.map(({ fingerprint }) => fingerprint) : [])
  return ({ root, chain }) => roots.has(root) || signerOf(chain, bundle) !== undefined
}

function chainOf(socket: TLSSocket): { readonly leaf: string; readonly chain: string; readonly root: string } {
  let certificate = socket.getPeerCertificate(true)
  const leaf = pemOf(certificate.raw)
  const blocks: string[] = []
  while (blocks.length < MAX_CHAIN) {
    blocks.push(blocks.length === 0 ? leaf : issuerPem(certificate.fingerprint256, certificate.raw))
    // Absent where the chain ends without its root, whatever the types say; a root is its own issuer.
    const issuer: typeof certificate | undefined = certificate.issuerCertificate
    if (issuer === undefined || issuer.fingerprint256 === certificate.fingerprint256) break
    certificate = issuer
  }
  return { leaf, chain: blocks.join(""), root: certificate.fingerprint256.replaceAll(":", "").toLowerCase() }
}

/** All proxies have the same few issuers: one text for all of them. */
const ISSUERS = new Map<string, string>()
const MOST_ISSUERS = 32

function issuerPem(fingerprint: string, der: Buffer): string {
  const known = ISSUERS.get(fingerprint)
  if (known !== undefined) return known
  if (ISSUERS.size >= MOST_ISSUERS) ISSUERS.clear()
  const pem = pemOf(der)
  ISSUERS.set(fingerprint, pem)
  return pem
}

function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`
}
