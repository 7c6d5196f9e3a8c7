// SPDX-License-Identifier: Apache-2.0
// Parses an untrusted PKCS#10 signing request (RFC 2986). Only the public key is used, once its signature proves
// possession of the private key. Subject and attributes are ignored, so that a caller cannot request an identity.
// Returns a value for any input.

import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { type DerElement, readOnly, readWithin, wholeBits } from "../der/read.js"
import { contextTag, TAG } from "../der/tags.js"
import { bitString, objectIdentifier, sequence } from "../der/write.js"
import { REQUEST_ALGORITHMS } from "../x509/algorithms.js"

export type SigningRequestResult =
  | {
      readonly ok: true
      /** SubjectPublicKeyInfo, DER. */
      readonly publicKey: Buffer
    }
  | { readonly ok: false; readonly message: string }

/** A request for an RSA key of 4096 bits takes about 2 KiB. */
const MAX_SIGNING_REQUEST_BYTES = 16 * 1024
const ATTRIBUTES = contextTag(0, true)
/** SEC 1 section 2.3.3. */
const UNCOMPRESSED = 0x04
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 4096
const MIN_RSA_EXPONENT = 65_537n
/** Larger exponents are useless and slow down every verification by every peer. */
const MAX_RSA_EXPONENT = 0xffff_ffffn
/** SubjectPublicKeyInfo with a named curve and an uncompressed point (RFC 5480 section 2), by OpenSSL's curve names. */
const EC_FORMS: ReadonlyMap<string, EcForm> = new Map([
  ["prime256v1", ecForm("1.2.840.10045.3.1.7", 32)],
  ["secp384r1", ecForm("1.3.132.0.34", 48)],
])

interface EcForm {
  readonly octets: number
  /** Everything before the point's coordinates. */
  readonly head: Buffer
}

function ecForm(curve: string, coordinateOctets: number): EcForm {
  const algorithm = sequence(objectIdentifier("1.2.840.10045.2.1"), objectIdentifier(curve))
  const point = Buffer.alloc(1 + 2 * coordinateOctets)
  point[0] = UNCOMPRESSED
  const whole = sequence(algorithm, bitString(point))
  return { octets: whole.length, head: whole.subarray(0, -2 * coordinateOctets) }
}

export function readSigningRequest(der: Uint8Array): SigningRequestResult {
  if (der.length > MAX_SIGNING_REQUEST_BYTES) {
    return rejected(`the signing request is longer than ${MAX_SIGNING_REQUEST_BYTES} bytes`)
  }
  const parts = readWithin(readOnly(der, TAG.sequence), TAG.sequence)
  const [information, identifier, signature] = parts ?? []
  const bits = wholeBits(signature)
  const spki = publicKeyIn(information)
  if (parts?.length !== 3 || information === undefined || identifier === undefined || !bits || !spki)
    return unreadable()
  const key = readKey(spki)
  if (key === undefined) return unreadable()
  const error = keyError(key, spki)
  if (error !== undefined) return rejected(error)
  const algorithm = REQUEST_ALGORITHMS.find(known => known.identifier.equals(identifier.raw))
  if (algorithm === undefined) {
    return rejected("the signing request is signed with an unknown algorithm; use ECDSA or RSA with SHA-256 or better")
  }
  if (algorithm.keyType !== key.asymmetricKeyType || !verifies(algorithm.digest, information.raw, key, bits)) {
    return rejected("the signature of the signing request does not match its key")
  }
  // The encoding of an EC key was compared octet by octet; an RSA key is encoded again, because its encoding was not
  // checked.
  return { ok: true, publicKey: algorithm.keyType === "ec" ? spki : key.export({ type: "spki", format: "der" }) }
}

/** SubjectPublicKeyInfo of a CertificationRequestInfo whose parsed fields are well formed. */
function publicKeyIn(information: DerElement | undefined): Buffer | undefined {
  const fields = readWithin(information, TAG.sequence)
  const [version, subject, spki, attributes] = fields ?? []
  if (version?.tag !== TAG.integer || !version.value.equals(Buffer.from([0]))) return undefined
  if (subject?.tag !== TAG.sequence || spki?.tag !== TAG.sequence || fields?.length !== 4) return undefined
  // A copy, so that a key does not keep the whole message alive.
  return attributes?.tag === ATTRIBUTES ? Buffer.from(spki.raw) : undefined
}

function readKey(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: "der", type: "spki" })
  } catch {
    return undefined
  }
}

function keyError(
  { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
  spki: Buffer,
): string | undefined {
  if (type === "ec") {
    const form = EC_FORMS.get(details?.namedCurve ?? "")
    if (form === undefined) return "the key is on another curve; use P-256 or P-384"
    // A compressed point or an explicit curve is the same key in an encoding that some TLS peers cannot parse.
    return spki.length === form.octets && spki.subarray(0, form.head.length).equals(form.head)
      ? undefined
      : "the key encoding is not supported; name the curve and send the point uncompressed"
  }
  if (type === "rsa") {
    const { modulusLength = 0, publicExponent = 0n } = details ?? {}
    if (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS) {
      return `an RSA key of ${modulusLength} bits is not accepted; use ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`
    }
    const usable =
      publicExponent >= MIN_RSA_EXPONENT && publicExponent <= MAX_RSA_EXPONENT && publicExponent % 2n === 1n
    return usable ? undefined : "the exponent of the RSA key is not accepted; use 65537"
  }
  // This includes Ed25519: TLS 1.2 peers, FIPS builds and many TLS stacks do not support it, and a workload that half
  // of its callers cannot connect to is worse than a rejection here.
  return `a key of type \`${type ?? "unknown"}\` is not accepted; use P-256, P-384 or RSA`
}

function verifies(digest: string | undefined, data: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(digest, data, key, signature)
  } catch {
    // Fail closed: a signature that cannot be checked proves nothing.
    return false
  }
}

function unreadable(): SigningRequestResult {
  return rejected("the signing request is not PKCS#10 in DER")
}

function rejected(message: string): SigningRequestResult {
  return { ok: false, message }
}
