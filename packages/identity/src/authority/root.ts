// SPDX-License-Identifier: Apache-2.0
// Generates a self-signed root. Each has its own key and name: two roots that share either could be mistaken for one
// another while both are trusted.

import { generateKeyPairSync, randomBytes } from "node:crypto"
import { TAG } from "../der/tags.js"
import { element, objectIdentifier, sequence, utf8String } from "../der/write.js"
import { IdentityError } from "../errors.js"
import { signingAlgorithm } from "../x509/algorithms.js"
import { buildCertificate } from "../x509/build.js"
import { AUTHORITY_KEY_USAGE, basicConstraints, keyIdentifier, subjectKeyIdentifier } from "../x509/extensions.js"
import { writePem } from "../x509/pem.js"
import { newSerial, type RandomBytes } from "../x509/serial.js"
import { type AuthorityKeys, BACKDATE_MS } from "./authority-keys.js"

export interface RootOptions {
  readonly trustDomain: string
  readonly lifetimeMs?: number
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly random?: RandomBytes
}

export const ROOT_LIFETIME_MS = 10 * 365 * 24 * 3_600_000
const ORGANISATION = "2.5.4.10"
const COMMON_NAME = "2.5.4.3"
/** RFC 5280 appendix A.1: ub-organization-name. */
const MAX_ORGANISATION = 64

export function createRoot({
  trustDomain,
  lifetimeMs = ROOT_LIFETIME_MS,
  now,
  random = randomBytes,
}: RootOptions): AuthorityKeys {
  if (!(lifetimeMs > 0)) throw new IdentityError("bad-subject", "the lifetime of a root must be greater than zero")
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = signingAlgorithm(privateKey)
  if (algorithm === undefined) throw new IdentityError("bad-material", "a P-256 key cannot sign here")
  const serial = newSerial(random)
  const name = sequence(
    attribute(ORGANISATION, trustDomain.slice(0, MAX_ORGANISATION)),
    attribute(COMMON_NAME, `root ${serial.toString("hex")}`),
  )
  const spki = publicKey.export({ type: "spki", format: "der" })
  const root = writePem(
    "CERTIFICATE",
    buildCertificate(
      {
        serial,
        issuer: name,
        subject: name,
        notBefore: now - BACKDATE_MS,
        notAfter: now + lifetimeMs,
        publicKey: spki,
        extensions: [basicConstraints(true), AUTHORITY_KEY_USAGE, subjectKeyIdentifier(keyIdentifier(spki))],
      },
      privateKey,
      algorithm,
    ),
  )
  return { certificateChain: root, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), root }
}

function attribute(oid: string, value: string): Buffer {
  return element(TAG.set, sequence(objectIdentifier(oid), utf8String(value)))
}
