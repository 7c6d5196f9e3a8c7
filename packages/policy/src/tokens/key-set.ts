// SPDX-License-Identifier: Apache-2.0
// The keys of one issuer: a JWK set (RFC 7517 section 5) or an object of `kid` to PEM certificate. Parsed once, frozen,
// with a revision by content. A single bad key is skipped and named; a set without any usable key is an error, so that
// it never takes the place of a good one.

import { createHash } from "node:crypto"
import { type JsonObject, parseJsonObject } from "./json-object.js"
import { type PublicKey, readCertificate, readJwk, type UnusableKey } from "./public-key.js"

export interface SkippedKey {
  /** Position in `keys`, or in the object of certificates. */
  readonly index: number
  readonly reason: string
}

export interface KeySet {
  /** INVARIANT: two sets with equal revisions verify exactly the same tokens. Order and spelling do not matter. */
  readonly revision: string
  readonly keys: readonly PublicKey[]
  readonly skipped: readonly SkippedKey[]
  /** Positions of keys that include their private half, which a published set must not contain. */
  readonly exposed: readonly number[]
}

export type KeySetErrorCode = "too-large" | "not-json" | "not-a-key-set" | "too-many-keys" | "no-usable-key"

export interface KeySetError {
  readonly code: KeySetErrorCode
  readonly message: string
  readonly skipped: readonly SkippedKey[]
}

export type KeySetResult =
  | { readonly ok: true; readonly keySet: KeySet }
  | { readonly ok: false; readonly error: KeySetError }

const MAX_BYTES = 256 * 1024
// A token without `kid` is tried against every key of its type, so the limit bounds the cost of a forgery.
const MAX_KEYS = 100
const PEM = "-----BEGIN CERTIFICATE-----"

export function parseKeySet(jwksText: string): KeySetResult {
  if (jwksText.length > MAX_BYTES) return failure("too-large", `the key set is larger than ${MAX_BYTES} bytes`)
  const bytes = Buffer.from(jwksText)
  if (bytes.length > MAX_BYTES) return failure("too-large", `the key set is larger than ${MAX_BYTES} bytes`)
  const document = parseJsonObject(bytes)
  if (document === undefined) return failure("not-json", "the key set is not a JSON object")
  if (!("keys" in document)) return fromCertificates(document)
  if (!Array.isArray(document.keys)) return failure("not-a-key-set", "`keys` is not a list")
  return collect(document.keys, readEntry)
}

function readEntry(entry: unknown): PublicKey | UnusableKey {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return { reason: "not a JSON object" }
  return readJwk(entry as JsonObject) // an object of the parsed document that is no list
}

function fromCertificates(document: JsonObject): KeySetResult {
  const entries = Object.entries(document)
  const certificates = entries.flatMap(([kid, pem]) =>
    typeof pem === "string" && pem.includes(PEM) ? [{ kid, pem }] : [],
  )
  // A single bare JWK gets here too: its members are not certificates.
  if (entries.length === 0 || certificates.length < entries.length) {
    return failure("not-a-key-set", "the key set has neither a list `keys` nor PEM certificates by key id")
  }
  return collect(certificates, ({ kid, pem }) => readCertificate(kid, pem))
}

function collect<T>(entries: readonly T[], read: (entry: T) => PublicKey | UnusableKey): KeySetResult {
  if (entries.length > MAX_KEYS) return failure("too-many-keys", `the key set has more than ${MAX_KEYS} keys`)
  const keys: PublicKey[] = []
  const skipped: SkippedKey[] = []
  const exposed: number[] = []
  entries.forEach((entry, index) => {
    const key = read(entry)
    if ("reason" in key) skipped.push(Object.freeze({ index, reason: key.reason }))
    else keys.push(Object.freeze(key))
    if (typeof entry === "object" && entry !== null && ("d" in entry || "k" in entry)) exposed.push(index)
  })
  if (keys.length === 0) {
    const first = skipped[0] === undefined ? "it is empty" : `key ${skipped[0].index}: ${skipped[0].reason}`
    return failure("no-usable-key", `the key set has no usable key; ${first}`, skipped)
  }
  const keySet = {
    revision: revisionOf(keys),
    keys: Object.freeze(keys),
    skipped: Object.freeze(skipped),
    exposed: Object.freeze(exposed),
  }
  return { ok: true, keySet: Object.freeze(keySet) }
}

function revisionOf(keys: readonly PublicKey[]): string {
  const lines = keys.map(({ kid, alg, key }) =>
    JSON.stringify([kid, alg, key.export({ type: "spki", format: "der" }).toString("base64")]),
  )
  return createHash("sha256").update(lines.sort().join("\n")).digest("base64url")
}

function failure(code: KeySetErrorCode, message: string, skipped: readonly SkippedKey[] = []): KeySetResult {
  return { ok: false, error: { code, message, skipped } }
}
