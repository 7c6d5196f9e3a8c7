// SPDX-License-Identifier: Apache-2.0
// What the certificate of a connection's other end says, once OpenSSL has found its chain to be good.

import { type SpiffeId, parseSpiffeId } from "@merlon/policy"
import { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"

export interface CertificateFacts {
  readonly id: SpiffeId
  /** Upper-case hex without leading zeros. */
  readonly serial: string
  /** Milliseconds since the epoch. */
  readonly validFrom: number
  readonly validTo: number
  /** SHA-256 of the DER of the root it leads to, in lower-case hex. */
  readonly root: string
}

/** Undefined where there is no certificate, its chain does not lead to a root of ours, or it names no workload. */
export function certificateFacts(socket: TLSSocket): CertificateFacts | undefined {
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return undefined
  const id = workloadOf(certificate)
  if (id === undefined) return undefined
  return {
    id,
    serial: certificate.serialNumber.toUpperCase().replace(/^0+/, ""),
    validFrom: Date.parse(certificate.validFrom),
    validTo: Date.parse(certificate.validTo),
    root: rootOf(socket),
  }
}

export function isCurrent({ validFrom, validTo }: CertificateFacts, now: number): boolean {
  return validFrom <= now && now < validTo
}

/** Fingerprints of every certificate in the bundle. */
export function rootsIn(bundle: string): ReadonlySet<string> {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return new Set(blocks.map(block => plainHex(new X509Certificate(block).fingerprint256)))
}

function workloadOf({ subjectAltName }: X509Certificate): SpiffeId | undefined {
  // Node prints a name with a comma, a quote or a control character as a JSON string, so that none can look like two
  // (CVE-2021-44532). No identity of ours has such characters: a certificate with one is not ours.
  if (subjectAltName === undefined || subjectAltName.includes('"')) return undefined
  const uris = subjectAltName.split(", ").filter(name => name.startsWith("URI:"))
  const [uri] = uris
  // X509-SVID section 2: exactly one URI. With two it would be a matter of taste who the peer is.
  return uri === undefined || uris.length > 1 ? undefined : parseSpiffeId(uri.slice("URI:".length))
}

function rootOf(socket: TLSSocket): string {
  let certificate = socket.getPeerCertificate(true)
  // A chain that OpenSSL has verified ends in a root that names itself as its issuer; Node ends there, too.
  for (let depth = 0; depth < 10; depth += 1) {
    const issuer: typeof certificate | undefined = certificate.issuerCertificate
    if (issuer === undefined || issuer.fingerprint256 === certificate.fingerprint256) break
    certificate = issuer
  }
  return plainHex(certificate.fingerprint256)
}

function plainHex(fingerprint: string): string {
  return fingerprint.replaceAll(":", "").toLowerCase()
}
