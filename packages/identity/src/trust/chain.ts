// SPDX-License-Identifier: Apache-2.0
// Follows a chain of certificates up to a root. Each step verifies a signature and does not rely on names.

import type { X509Certificate } from "node:crypto"
import { type BundleCertificate, readBundle, readCertificates } from "./bundle.js"

/** No mesh has longer chains, and each certificate costs a signature check. */
const MAX_CHAIN = 10

/** The root that the chain, leaf first, leads to. Dates are not checked. */
export function rootOf(
  chain: readonly BundleCertificate[],
  roots: readonly BundleCertificate[],
): BundleCertificate | undefined {
  for (const [index, { certificate, fingerprint }] of chain.slice(0, MAX_CHAIN).entries()) {
    const itself = roots.find(root => root.fingerprint === fingerprint)
    const root = itself ?? roots.find(candidate => issued(certificate, candidate.certificate))
    if (root !== undefined) return root
    const next = chain[index + 1]
    if (next === undefined || !issued(certificate, next.certificate)) return undefined
  }
  return undefined
}

/** Fingerprint of the chain's root; undefined if the bundle does not contain it, or either is unreadable. */
export function signerOf(pemChain: string, trustBundlePem: string): string | undefined {
  const chain = readCertificates(pemChain)
  const roots = readBundle(trustBundlePem)
  return chain.ok && roots.ok ? rootOf(chain.certificates, roots.certificates)?.fingerprint : undefined
}

function issued(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}
