// SPDX-License-Identifier: Apache-2.0
// The workload's side of a signing request: generates a key and the request for its certificate. The private key stays
// here; the request contains the public key and a proof of possession.

import { generateKeyPairSync, sign } from "node:crypto"
import { contextTag } from "../der/tags.js"
import { bitString, element, sequence, unsignedInteger } from "../der/write.js"
import { IdentityError } from "../errors.js"
import { signingAlgorithm } from "../x509/algorithms.js"

export interface MadeRequest {
  /** PKCS#8, PEM. Never sent. */
  readonly privateKey: string
  /** PKCS#10, DER. */
  readonly request: Buffer
}

const VERSION_1 = unsignedInteger(Buffer.from([0]))
const NO_NAME = sequence()
const NO_ATTRIBUTES = element(contextTag(0, true))

export function makeSigningRequest(): MadeRequest {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = signingAlgorithm(privateKey)
  if (algorithm === undefined) throw new IdentityError("bad-material", "a P-256 key cannot sign here")
  const information = sequence(VERSION_1, NO_NAME, publicKey.export({ type: "spki", format: "der" }), NO_ATTRIBUTES)
  const request = sequence(
    information,
    algorithm.identifier,
    bitString(sign(algorithm.digest, information, privateKey)),
  )
  return { privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), request }
}
