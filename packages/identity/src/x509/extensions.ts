// SPDX-License-Identifier: Apache-2.0
// The extensions of RFC 5280 section 4.2 that the mesh's certificates use.

import { createHash } from "node:crypto"
import { contextTag } from "../der/tags.js"
import { bitString, boolean, element, objectIdentifier, octetString, sequence, utf8String } from "../der/write.js"

export const OID = {
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  /**
   * Our own extension: ITU-T X.667 derives an identifier from the UUID 207e3191-4561-5e61-afaa-c3a55795e1f6, so it
   * needs no registration.
   */
  workloadPod: "2.25.43190530616919016900913531431656219126",
} as const

/** RFC 5280 section 4.2.1.6: implicit tags of GeneralName. */
export const GENERAL_NAME = {
  dns: contextTag(2, false),
  uri: contextTag(6, false),
  ip: contextTag(7, false),
} as const

export interface AltNames {
  readonly uris: readonly string[]
  readonly dnsNames: readonly string[]
  /** 4 or 16 octets each. */
  readonly ipAddresses: readonly Uint8Array[]
}

export function extension(oid: string, critical: boolean, value: Uint8Array): Buffer {
  // DER omits default values, and the default is "not critical".
  return critical
    ? sequence(objectIdentifier(oid), boolean(true), octetString(value))
    : sequence(objectIdentifier(oid), octetString(value))
}

export function basicConstraints(authority: boolean): Buffer {
  return extension(OID.basicConstraints, true, authority ? sequence(boolean(true)) : sequence())
}

// RFC 5280 section 4.2.1.3: bit 0 digitalSignature, 2 keyEncipherment, 5 keyCertSign, 6 cRLSign. DER removes trailing
// zeros.
const DIGITAL_SIGNATURE = bitString(Buffer.from([0b1000_0000]), 7)
const DIGITAL_SIGNATURE_KEY_ENCIPHERMENT = bitString(Buffer.from([0b1010_0000]), 5)
const CERT_AND_CRL_SIGN = bitString(Buffer.from([0b0000_0110]), 1)

export const AUTHORITY_KEY_USAGE = extension(OID.keyUsage, true, CERT_AND_CRL_SIGN)
export const LEAF_KEY_USAGE = extension(OID.keyUsage, true, DIGITAL_SIGNATURE)
/** In a TLS 1.2 handshake, an RSA key may also decrypt the secret. */
export const RSA_LEAF_KEY_USAGE = extension(OID.keyUsage, true, DIGITAL_SIGNATURE_KEY_ENCIPHERMENT)
export const SERVER_AND_CLIENT = extension(
  OID.extendedKeyUsage,
  false,
  sequence(objectIdentifier(OID.serverAuth), objectIdentifier(OID.clientAuth)),
)
export const SERVER_ONLY = extension(OID.extendedKeyUsage, false, sequence(objectIdentifier(OID.serverAuth)))

/** RFC 5280 section 4.2.1.2 requires a value that identifies the key: 160 bits of the SHA-256 of its DER. */
export function keyIdentifier(publicKey: Uint8Array): Buffer {
  return createHash("sha256").update(publicKey).digest().subarray(0, 20)
}

export function subjectKeyIdentifier(identifier: Uint8Array): Buffer {
  return extension(OID.subjectKeyIdentifier, false, octetString(identifier))
}

export function authorityKeyIdentifier(identifier: Uint8Array): Buffer {
  return extension(OID.authorityKeyIdentifier, false, sequence(element(contextTag(0, false), identifier)))
}

/** The Pod that a certificate was signed for; its uid distinguishes it from a later Pod of the same name. */
export interface CertifiedPod {
  readonly name: string
  readonly uid: string
}

/** Not critical: peers use only the identity, so a peer that does not know this extension loses nothing. */
export function workloadPod({ name, uid }: CertifiedPod): Buffer {
  return extension(OID.workloadPod, false, sequence(utf8String(name), utf8String(uid)))
}

/** Critical, because the subject is empty (RFC 5280 section 4.2.1.6). */
export function subjectAltName({ uris, dnsNames, ipAddresses }: AltNames): Buffer {
  return extension(
    OID.subjectAltName,
    true,
    sequence(
      ...uris.map(uri => element(GENERAL_NAME.uri, Buffer.from(uri, "latin1"))),
      ...dnsNames.map(name => element(GENERAL_NAME.dns, Buffer.from(name, "latin1"))),
      ...ipAddresses.map(address => element(GENERAL_NAME.ip, address)),
    ),
  )
}
