// SPDX-License-Identifier: Apache-2.0
// Checks that the server has an expected identity. OpenSSL has verified the chain against the mesh's roots; this checks
// what only the mesh knows: one SPIFFE identity, among the expected ones, not revoked.

import type { X509Certificate } from "node:crypto"
import { canonicalSerial, certificateFacts } from "@merlon/identity"
import type { TrustSpec } from "@merlon/xds"

/** Undefined if the server is the expected one, otherwise the error. */
export function verifyServer(
  certificate: X509Certificate,
  identities: readonly string[],
  trust: Pick<TrustSpec, "revokedIdentities" | "revokedSerials">,
  now: number,
): string | undefined {
  const { spiffeId, serial, notBefore, notAfter } = certificateFacts(certificate.toString())
  if (spiffeId === undefined) return "the server's certificate does not have exactly one SPIFFE identity"
  if (!(notBefore <= now && now < notAfter)) return `the certificate of \`${spiffeId}\` is not valid now`
  if (!identities.includes(spiffeId)) {
    return `the server is \`${spiffeId}\`; expected ${identities.map(id => `\`${id}\``).join(" or ")}`
  }
  if (trust.revokedIdentities.includes(spiffeId)) return `\`${spiffeId}\` is revoked`
  if (trust.revokedSerials.some(revoked => canonicalSerial(revoked) === serial)) {
    return `the certificate of \`${spiffeId}\` is revoked`
  }
  return undefined
}
