// SPDX-License-Identifier: Apache-2.0
// Keys for replaying requests with tokens. The private keys of the issuers that policies name are not available, so a
// replay uses test keys: one key pair for each key id, the same at every call. They replace the keys in the documents
// that are compiled for the replay, and nowhere else.

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto"
import type { PolicyDocument } from "../resources/document.js"
import { keysOf } from "./token-rules.js"
import type { WitnessToken } from "./witness.js"

// RFC 8410 section 7: the bytes before the 32 bytes of an Ed25519 key.
const PRIVATE_KEY_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex")

const pairs = new Map<string, KeyObject>()

function privateKeyOf(id: string): KeyObject {
  let key = pairs.get(id)
  if (key === undefined) {
    const seed = createHash("sha256").update(`replay key ${id}`).digest()
    key = createPrivateKey({ key: Buffer.concat([PRIVATE_KEY_PREFIX, seed]), format: "der", type: "pkcs8" })
    // Few are ever in use. The limit keeps a caller with many issuers from making this grow without bound.
    if (pairs.size >= 1_000) pairs.clear()
    pairs.set(id, key)
  }
  return key
}

const kidOf = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, 16)

export function withReplayKeys(documents: readonly PolicyDocument[]): readonly PolicyDocument[] {
  return documents.map(document => {
    if (document.kind !== "RequestAuthentication") return document
    const jwtRules = (document.spec.jwtRules ?? []).map(rule => {
      const ids = keysOf(rule)
      // None of the rule's keys can be read, so no token is valid, and it must stay that way.
      if (ids.length === 0) return rule
      const { jwksUri: _, ...rest } = rule
      const keys = ids.map(id => ({ ...createPublicKey(privateKeyOf(id)).export({ format: "jwk" }), kid: kidOf(id) }))
      return { ...rest, jwks: JSON.stringify({ keys }) }
    })
    return { ...document, spec: { ...document.spec, jwtRules } }
  })
}

const UNKNOWN = "signed by an unknown key"

/** `now` in seconds since the epoch. */
export function signedToken({ claims, key = UNKNOWN, expires }: WitnessToken, now: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const times = expires ? { exp: now + 3600 } : {}
  const input = `${part({ alg: "EdDSA", kid: kidOf(key) })}.${part({ ...claims, ...times })}`
  return `${input}.${sign(null, Buffer.from(input), privateKeyOf(key)).toString("base64url")}`
}
