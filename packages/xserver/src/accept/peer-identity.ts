// SPDX-License-Identifier: Apache-2.0
// Who the peer of a finished handshake is. The chain has been checked by OpenSSL; here comes what only the mesh knows:
// one SPIFFE identity, of a trust domain that is ours, not revoked, and not expired since a resumed session was granted.

import type { X509Certificate } from "node:crypto"
import { type MeshConfig, parseSpiffeId, type SpiffeId } from "@merlon/policy"
import type { TlsFailure } from "../observe/meters.js"
import type { PeerCertificate } from "./accepted.js"
import { subjectAltNames } from "./subject-alt-names.js"
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

export function identifyPeer(certificate: X509Certificate | undefined, rules: PeerRules): PeerResult {
  if (certificate === undefined) return refused("no-certificate")
  // A resumed session brings the certificate it was granted for, and OpenSSL does not look at its dates again.
  if (!(Date.parse(certificate.validTo) > rules.now)) return refused("expired")
  if (!(Date.parse(certificate.validFrom) <= rules.now)) return refused("not-yet-valid")
  const names = subjectAltNames(certificate.raw)
  // X509-SVID section 2: exactly one URI. With two it would be a matter of taste who the peer is.
  const [uri] = names?.uris.length === 1 ? names.uris : []
  const peer = uri === undefined ? undefined : parseSpiffeId(uri)
  if (names === undefined || peer === undefined) return refused("bad-identity")
  const { trustDomain, trustDomainAliases } = rules.mesh
  if (peer.trustDomain !== trustDomain && !trustDomainAliases.includes(peer.trustDomain)) {
    return refused("wrong-trust-domain")
  }
  const serial = certificate.serialNumber.toUpperCase()
  if (isRevoked(rules.revoked, peer.uri, serial)) return refused("revoked")
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase()
  // An empty subject, as mesh certificates have it, is undefined at run time whatever the types say.
  const subject: string | undefined = certificate.subject
  return {
    ok: true,
    peer,
    certificate: { uri: peer.uri, fingerprint, subject: subject ?? "", serial, dns: names.dns, by: rules.by },
  }
}

function refused(failure: TlsFailure): PeerResult {
  return { ok: false, failure }
}
