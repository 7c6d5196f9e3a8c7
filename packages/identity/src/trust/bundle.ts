// SPDX-License-Identifier: Apache-2.0
// Trust bundles: the trusted roots as PEM. Each root occurs once, in the order of first occurrence, so that equal trust
// is equal text and a bundle does not change without reason.

import { createHash, type X509Certificate } from "node:crypto"
import { IdentityError } from "../errors.js"
import { parseCertificate } from "../x509/parse-certificate.js"
import { readPem, writePem } from "../x509/pem.js"

export interface BundleCertificate {
  /** Of this certificate only. */
  readonly pem: string
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string
  /** Milliseconds since the epoch. */
  readonly notAfter: number
  readonly certificate: X509Certificate
}

export type BundleResult =
  | { readonly ok: true; readonly certificates: readonly BundleCertificate[] }
  | { readonly ok: false; readonly message: string }

/** Parses any certificates, in order and with duplicates. At least one. */
export function readCertificates(pem: string): BundleResult {
  const read = readPem(pem)
  if (!read.ok) return read
  const certificates: BundleCertificate[] = []
  for (const [index, { label, der }] of read.blocks.entries()) {
    // Fail closed: a private key in a bundle would be sent to everyone.
    if (label !== "CERTIFICATE") return { ok: false, message: `block ${index + 1} is \`${label}\`, not a certificate` }
    const certificate = parseCertificate(der)
    if (certificate === undefined) return { ok: false, message: `block ${index + 1} is not a readable certificate` }
    certificates.push(describe(certificate))
  }
  return certificates.length === 0 ? { ok: false, message: "holds no certificate" } : { ok: true, certificates }
}

/**
 * Parses distinct roots. Rejects certificates that are not authorities, because no peer could be verified with them.
 */
export function readBundle(pem: string): BundleResult {
  const read = readCertificates(pem)
  if (!read.ok) return read
  const other = read.certificates.findIndex(({ certificate }) => !certificate.ca)
  if (other >= 0) return { ok: false, message: `certificate ${other + 1} is not a CA certificate` }
  return { ok: true, certificates: distinct(read.certificates) }
}

/** All roots of all bundles, in order, without duplicates. */
export function mergeBundles(...bundles: readonly string[]): string {
  const all = bundles.flatMap(bundle => {
    const read = readBundle(bundle)
    if (!read.ok) throw new IdentityError("bad-material", `the trust bundle cannot be used: ${read.message}`)
    return read.certificates
  })
  return distinct(all)
    .map(({ pem }) => pem)
    .join("")
}

/** SHA-256 of the DER, lower-case hex. */
function fingerprintOf(der: Uint8Array): string {
  return createHash("sha256").update(der).digest("hex")
}

function distinct(certificates: readonly BundleCertificate[]): readonly BundleCertificate[] {
  return [...new Map(certificates.map(entry => [entry.fingerprint, entry])).values()]
}

function describe(certificate: X509Certificate): BundleCertificate {
  return {
    pem: writePem("CERTIFICATE", certificate.raw),
    fingerprint: fingerprintOf(certificate.raw),
    notAfter: Date.parse(certificate.validTo),
    certificate,
  }
}
