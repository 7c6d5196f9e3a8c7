// SPDX-License-Identifier: Apache-2.0
// The contents of a peer's certificate, after OpenSSL has verified its chain.

import type { TLSSocket } from "node:tls"
import { type CertifiedPod, canonicalSerial, inspectCertificate, readBundle, signerOf } from "@merlon/identity"
import type { SpiffeId } from "@merlon/policy/request"
import { takePeerCertificate } from "../runtime/captured-certificate.js"
import { type Issuer, issuerOf, pemOf } from "./issuers.js"

export interface PeerCertificate {
  readonly id: SpiffeId
  /** The Pod that it was signed for, if any. */
  readonly pod: CertifiedPod | undefined
  /** Upper-case hex without leading zeros. */
  readonly serial: string
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /** PEM, leaf first, up to the root. */
  readonly chain: string
  /** SHA-256 of the DER of the root that it was verified with, in lower-case hex. */
  readonly root: string
}

/** The parts of a certificate that are kept for each connection. */
interface CertificateFields {
  readonly id: SpiffeId
  readonly pod: CertifiedPod | undefined
  readonly serial: string
  readonly notBefore: number
  readonly notAfter: number
  /** A latin1 string, because that is one object and keeps no other buffer alive. */
  readonly der: string
  readonly issuer: Issuer
}

/** Undefined if there is no certificate, its chain does not lead to one of our roots, or it names no workload. */
export function peerCertificate(socket: TLSSocket, trustBundle: string): PeerCertificate | undefined {
  try {
    // Always read, because the presented certificate stays in memory until it is.
    const leaf = takePeerCertificate(socket)
    if (!socket.authorized) return undefined
    const inspected = leaf && inspectCertificate(leaf.raw)
    if (leaf === undefined || inspected?.identity === undefined) return undefined
    return new ReadCertificate({
      id: inspected.identity,
      pod: inspected.pod,
      serial: canonicalSerial(leaf.serialNumber),
      notBefore: Date.parse(leaf.validFrom),
      notAfter: Date.parse(leaf.validTo),
      der: leaf.raw.toString("latin1"),
      issuer: issuerOf(leaf, trustBundle),
    })
  } catch {
    // Fail closed: a certificate that we cannot parse proves nothing, even if OpenSSL accepts it.
    return undefined
  }
}

/** Kept for each of thousands of connections, so rarely used values are computed on demand. */
class ReadCertificate implements PeerCertificate {
  readonly id: SpiffeId
  readonly pod: CertifiedPod | undefined
  readonly serial: string
  readonly notBefore: number
  readonly notAfter: number
  readonly #der: string
  readonly #issuer: Issuer

  constructor({ id, pod, serial, notBefore, notAfter, der, issuer }: CertificateFields) {
    this.id = id
    this.pod = pod
    this.serial = serial
    this.notBefore = notBefore
    this.notAfter = notAfter
    this.#der = der
    this.#issuer = issuer
  }

  get root(): string {
    return this.#issuer.root
  }

  get chain(): string {
    return pemOf(Buffer.from(this.#der, "latin1")) + this.#issuer.chain
  }
}

export function isCurrent({ notBefore, notAfter }: PeerCertificate, now: number): boolean {
  return notBefore <= now && now < notAfter
}

/** Whether a chain leads to a root of this bundle, which may differ from the bundle it was verified with. */
export function trustIn(bundle: string): (certificate: PeerCertificate) => boolean {
  const read = readBundle(bundle)
  // Fail closed: with an unreadable bundle no peer is trusted.
  const roots = new Set(read.ok ? read.certificates.map(({ fingerprint }) => fingerprint) : [])
  return ({ root, chain }) => roots.has(root) || signerOf(chain, bundle) !== undefined
}
