// SPDX-License-Identifier: Apache-2.0
// Checks that the peer of a connection is a control plane of this mesh. OpenSSL has verified the chain against the
// mesh's roots; both sides check the identity here.

import { X509Certificate } from "node:crypto"
import { canonicalSerial, inspectCertificate } from "@merlon/identity"
import type { TrustSpec } from "@merlon/xds"
import type { ReplicaIdentity } from "./replica-names.js"

/** Returns undefined if it is one, else the reason. Fails closed: an unreadable certificate proves nothing. */
export function verifyReplica(
  der: Uint8Array | undefined,
  { uri, dnsName }: ReplicaIdentity,
  { revokedIdentities, revokedSerials }: Pick<TrustSpec, "revokedIdentities" | "revokedSerials">,
  now: number,
): string | undefined {
  const inspected = der && inspectCertificate(der)
  if (der === undefined || inspected?.identity === undefined)
    return "the peer presented no certificate with exactly one SPIFFE identity"
  const { identity, names } = inspected
  if (identity.uri !== uri) return `\`${identity.uri}\` is not the control plane of this mesh, \`${uri}\``
  if (!names.dns.includes(dnsName))
    return `the certificate of \`${uri}\` belongs to a workload and not to the control plane`
  const certificate = new X509Certificate(der)
  if (Date.parse(certificate.validFrom) > now || Date.parse(certificate.validTo) <= now) {
    return `the certificate of \`${uri}\` is not valid now`
  }
  const serial = canonicalSerial(certificate.serialNumber)
  if (revokedIdentities.includes(uri) || revokedSerials.some(revoked => canonicalSerial(revoked) === serial)) {
    return `the certificate of \`${uri}\` is revoked`
  }
  return undefined
}
