// SPDX-License-Identifier: Apache-2.0
// Loads an authority, and rejects everything that would make its certificates useless before the first one is signed: a
// key that does not match, a chain without a root, an authority that may not sign.

import { createPrivateKey, type KeyObject } from "node:crypto"
import { IdentityError } from "../errors.js"
import { type BundleCertificate, readBundle, readCertificates } from "../trust/bundle.js"
import { rootOf } from "../trust/chain.js"
import { type SignatureAlgorithm, signingAlgorithm } from "../x509/algorithms.js"
import { type Inspected, inspectCertificate } from "../x509/inspect.js"
import type { AuthorityKeys } from "./authority-keys.js"

export interface LoadedAuthority {
  readonly key: KeyObject
  readonly algorithm: SignatureAlgorithm
  /** Name of the signing certificate, DER. */
  readonly issuer: Buffer
  readonly keyIdentifier: Buffer | undefined
  /** PEM that follows every leaf; without the root. */
  readonly intermediates: string
  readonly root: BundleCertificate
  readonly roots: readonly BundleCertificate[]
  /** Expiry of the signing certificate. */
  readonly signerNotAfter: number
  /** The earliest expiry in the chain, including the root. */
  readonly notAfter: number
}

export function loadAuthority({ certificateChain, privateKey, root: rootPem }: AuthorityKeys): LoadedAuthority {
  const chain = usable(readCertificates(certificateChain), "the certificate chain")
  const roots = usable(readBundle(rootPem), "the root")
  const key = readKey(privateKey)
  const [signer] = chain
  const algorithm = signingAlgorithm(key)
  if (signer === undefined || algorithm === undefined) throw unusable("the private key is of a type that cannot sign")
  if (!signer.certificate.checkPrivateKey(key)) {
    throw unusable("the private key does not belong to the first certificate of the chain")
  }
  const root = rootOf(chain, roots)
  if (root === undefined) throw unusable("the chain does not lead to the root")
  const above = chain.filter(({ fingerprint }) => fingerprint !== root.fingerprint)
  const path = [...above, root]
  for (const [depth, certificate] of path.entries()) requireAuthority(certificate, depth)
  const inspected = inspect(signer)
  return {
    key,
    algorithm,
    issuer: Buffer.from(inspected.subject),
    keyIdentifier: inspected.keyIdentifier && Buffer.from(inspected.keyIdentifier),
    intermediates: above.map(({ pem }) => pem).join(""),
    root,
    roots,
    signerNotAfter: signer.notAfter,
    notAfter: Math.min(...path.map(({ notAfter }) => notAfter)),
  }
}

function requireAuthority(certificate: BundleCertificate, depth: number): void {
  const inspected = inspect(certificate)
  const name = nameOf(certificate)
  if (!inspected.authority) throw unusable(`${name} is not a CA certificate (CA:TRUE)`)
  if (!inspected.signsCertificates) throw unusable(`${name} may not sign certificates (key usage)`)
  // RFC 5280 section 4.2.1.9: how many intermediate authorities may be below this one.
  if (inspected.pathLength !== undefined && inspected.pathLength < depth) {
    throw unusable(`${name} allows ${inspected.pathLength} CA certificates below it, and the chain has ${depth}`)
  }
}

function inspect(certificate: BundleCertificate): Inspected {
  const inspected = inspectCertificate(certificate.certificate.raw)
  if (inspected !== undefined) return inspected
  throw unusable(`${nameOf(certificate)} is not an X.509 version 3 certificate with well-formed extensions`)
}

function nameOf({ certificate }: BundleCertificate): string {
  // Contrary to its type, an empty subject, as in workload certificates, is undefined.
  const subject: string | undefined = certificate.subject
  return `\`${subject?.replaceAll("\n", ", ") ?? ""}\``
}

function usable(read: ReturnType<typeof readCertificates>, what: string): readonly BundleCertificate[] {
  if (!read.ok) throw unusable(`${what} cannot be used: ${read.message}`)
  return read.certificates
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // OpenSSL's message does not help users, and no part of a key may end up in a log.
    throw unusable("the private key cannot be read; it must be PEM and not encrypted")
  }
}

function unusable(message: string): IdentityError {
  return new IdentityError("bad-material", message)
}
