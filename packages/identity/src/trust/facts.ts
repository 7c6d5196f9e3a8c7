// SPDX-License-Identifier: Apache-2.0
// The facts about a certificate that its holder needs.

import { IdentityError } from "../errors.js"
import type { CertifiedPod } from "../x509/extensions.js"
import { inspectCertificate } from "../x509/inspect.js"
import { canonicalSerial } from "../x509/serial.js"
import { readCertificates } from "./bundle.js"

export interface CertificateFacts {
  /** Upper-case hex without leading zeros. */
  readonly serial: string
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /** Set if the certificate has exactly one URI, and that is an identity (X509-SVID section 2). */
  readonly spiffeId: string | undefined
  /** The Pod that it was signed for, if any. */
  readonly pod: CertifiedPod | undefined
}

/** The facts of the chain's first certificate. */
export function certificateFacts(pemChain: string): CertificateFacts {
  const read = readCertificates(pemChain)
  if (!read.ok) throw new IdentityError("bad-material", `the certificate chain cannot be used: ${read.message}`)
  const [leaf] = read.certificates
  if (leaf === undefined) throw new IdentityError("bad-material", "the certificate chain holds no certificate")
  const { certificate, notAfter } = leaf
  const { identity, pod } = inspectCertificate(certificate.raw) ?? {}
  return {
    serial: canonicalSerial(certificate.serialNumber),
    notBefore: Date.parse(certificate.validFrom),
    notAfter,
    spiffeId: identity?.uri,
    pod,
  }
}
