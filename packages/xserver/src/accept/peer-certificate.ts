// SPDX-License-Identifier: Apache-2.0
// Parses a peer's certificate once and caches the result: callers reconnect with the same certificate while it is
// valid, and parsing is a large part of a handshake's cost.

import type { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"
import { inspectCertificate } from "@merlon/identity"
import type { SpiffeId } from "@merlon/policy/request"
import { takePeerCertificate } from "@merlon/xds/runtime"

export interface CertificateFacts {
  /** Undefined unless the certificate has exactly one. */
  readonly identity: SpiffeId | undefined
  readonly dns: readonly string[]
  readonly subject: string
  /** Upper-case hex. */
  readonly serial: string
  /** SHA-256 of the certificate in lower-case hex. */
  readonly fingerprint: string
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /**
   * The certificates that the peer sent along, in the order of the chain; undefined if it sent none, as in a resumed
   * session.
   */
  readonly issuer?: X509Certificate | undefined
}

const MAX_KNOWN = 1_000
const KNOWN = new Map<string, CertificateFacts>()
const MAX_ISSUERS = 32
const ISSUERS = new Map<string, X509Certificate>()

/** Undefined if the peer sent no certificate, or has disconnected. */
export function peerCertificate(socket: TLSSocket): CertificateFacts | undefined {
  // `getPeerCertificate` would read all of the certificate first. Parsing its bytes would make Node search them for PEM
  // text, which the sender may have put there.
  const certificate = takePeerCertificate(socket)
  if (certificate === undefined) return undefined
  const name = certificate.fingerprint256
  const known = KNOWN.get(name)
  // Must be read now: Node returns the issuer that came with a certificate only to the first reader.
  const issuer = certificate.issuerCertificate && sharedIssuer(certificate.issuerCertificate)
  if (known !== undefined && (issuer === undefined || known.issuer === issuer)) return known
  const facts = { ...(known ?? readCertificate(certificate)), issuer }
  // Clears all entries: a proxy with a thousand callers soon sees them again, and evicting one at a time would cost
  // each of them.
  if (known === undefined && KNOWN.size >= MAX_KNOWN) KNOWN.clear()
  KNOWN.set(name, facts)
  return facts
}

export function readCertificate(certificate: X509Certificate): CertificateFacts {
  const inspected = inspectCertificate(certificate.raw)
  // The types say string, but an empty subject, which mesh certificates have, is undefined at run time.
  const subject: string | undefined = certificate.subject
  return {
    identity: inspected?.identity,
    dns: inspected?.names.dns ?? [],
    subject: subject ?? "",
    serial: certificate.serialNumber.toUpperCase(),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  }
}

/** Callers have few different issuers: all that send the same chain share one object. */
function sharedIssuer(issuer: X509Certificate): X509Certificate {
  let name = ""
  for (let each: X509Certificate | undefined = issuer; each !== undefined; each = each.issuerCertificate) {
    name += each.fingerprint256
  }
  const known = ISSUERS.get(name) ?? issuer
  if (!ISSUERS.has(name) && ISSUERS.size >= MAX_ISSUERS) ISSUERS.clear()
  ISSUERS.set(name, known)
  return known
}
