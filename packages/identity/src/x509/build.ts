// SPDX-License-Identifier: Apache-2.0
// Builds and signs a certificate (RFC 5280 section 4.1). The caller decides all of its contents.

import { type KeyObject, sign } from "node:crypto"
import { contextTag } from "../der/tags.js"
import { bitString, element, sequence, time, unsignedInteger } from "../der/write.js"
import type { SignatureAlgorithm } from "./algorithms.js"

export interface CertificateParts {
  readonly serial: Uint8Array
  /** Name, DER. */
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  /** Milliseconds since the epoch, truncated to seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array
  readonly extensions: readonly Uint8Array[]
}

const VERSION_3 = element(contextTag(0, true), unsignedInteger(Buffer.from([2])))

/** Returns a certificate, DER. */
export function buildCertificate(parts: CertificateParts, key: KeyObject, algorithm: SignatureAlgorithm): Buffer {
  const { serial, issuer, subject, notBefore, notAfter, publicKey, extensions } = parts
  const signed = sequence(
    VERSION_3,
    unsignedInteger(serial),
    algorithm.identifier,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    subject,
    publicKey,
    element(contextTag(3, true), sequence(...extensions)),
  )
  return sequence(signed, algorithm.identifier, bitString(sign(algorithm.digest, signed, key)))
}
