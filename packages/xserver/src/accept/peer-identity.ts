// SPDX-License-Identifier: Apache-2.0
// The identity of a peer after the handshake. OpenSSL has verified the chain; this checks what only the mesh knows:
// exactly one SPIFFE identity, of our trust domain, not revoked, and not expired since a resumed session was granted.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { SpiffeId } from "@merlon/policy/request"
import type { TlsFailure } from "../observe/meters.js"
import type { PeerCertificate } from "./accepted.js"
import type { CertificateFacts } from "./peer-certificate.js"
import { isRevoked, type RevocationSet } from "./transport-security.js"

export type PeerResult =
  | { readonly ok: true; readonly peer: SpiffeId; readonly certificate: PeerCertificate }
  | { readonly ok: false; readonly failure: TlsFailure }

export interface PeerRules {
  readonly mesh: MeshConfig
  readonly revoked: RevocationSet
  /** Our own identity. */
  readonly by: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

export function identifyPeer(certificate: CertificateFacts | undefined, rules: PeerRules): PeerResult {
  if (certificate === undefined) return rejected("no-certificate")
  const { identity, serial, fingerprint, subject, dns, notBefore, notAfter, issuer } = certificate
  // OpenSSL does not check the dates again when a session is resumed with the certificate it was granted for.
  if (!(notAfter > rules.now)) return rejected("expired")
  if (!(notBefore <= rules.now)) return rejected("not-yet-valid")
  if (identity === undefined) return rejected("bad-identity")
  if (!isOfMesh(identity, rules.mesh)) return rejected("wrong-trust-domain")
  if (isRevoked(rules.revoked, { uri: identity.uri, serial })) return rejected("revoked")
  const { by } = rules
  return { ok: true, peer: identity, certificate: { uri: identity.uri, fingerprint, subject, serial, dns, by, issuer } }
}

/** Whether the identity is in the mesh's trust domain, or in an alias of it. */
export function isOfMesh(identity: SpiffeId, { trustDomain, trustDomainAliases }: MeshConfig): boolean {
  return identity.trustDomain === trustDomain || trustDomainAliases.includes(identity.trustDomain)
}

function rejected(failure: TlsFailure): PeerResult {
  return { ok: false, failure }
}
