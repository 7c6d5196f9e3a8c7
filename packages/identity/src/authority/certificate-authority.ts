// SPDX-License-Identifier: Apache-2.0
// Signs the mesh's certificates. The caller of these methods decides the identity; only the public key is taken from
// the holder's request.

import { randomBytes } from "node:crypto"
import { parseIp, parseSpiffeId } from "@merlon/policy/request"
import { readOnly, readWithin, wholeBits } from "../der/read.js"
import { TAG } from "../der/tags.js"
import { objectIdentifier, sequence } from "../der/write.js"
import { IdentityError } from "../errors.js"
import { buildCertificate } from "../x509/build.js"
import {
  type AltNames,
  authorityKeyIdentifier,
  basicConstraints,
  type CertifiedPod,
  LEAF_KEY_USAGE,
  RSA_LEAF_KEY_USAGE,
  SERVER_AND_CLIENT,
  SERVER_ONLY,
  subjectAltName,
  workloadPod,
} from "../x509/extensions.js"
import { writePem } from "../x509/pem.js"
import { newSerial, type RandomBytes } from "../x509/serial.js"
import { type AuthorityKeys, BACKDATE_MS } from "./authority-keys.js"
import { type LoadedAuthority, loadAuthority } from "./load.js"

export interface SignRequest {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array
  /** `spiffe://…`. */
  readonly identity: string
  /** The Pod of the holder, if proven; several Pods may have the same identity. */
  readonly pod?: CertifiedPod | undefined
  readonly ttlMs: number
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface ServerSignRequest {
  readonly publicKey: Uint8Array
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly identity?: string
  readonly ttlMs: number
  readonly now: number
}

export interface SignedCertificate {
  /** PEM, leaf first, without the root. */
  readonly certificateChain: string
  /** Upper-case hex. */
  readonly serial: string
  /** Milliseconds since the epoch. */
  readonly notAfter: number
}

const NO_NAME = sequence()
const RSA_ENCRYPTION = objectIdentifier("1.2.840.113549.1.1.1")
const SECOND = 1000
/** RFC 1123 labels; `*` is only allowed as the first label. */
const DNS_NAME = /^(?=.{1,253}$)(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/

export class CertificateAuthority {
  readonly keys: AuthorityKeys
  readonly #loaded: LoadedAuthority
  readonly #random: RandomBytes
  readonly #authorityKeyIdentifier: readonly Buffer[]

  /** Throws an `IdentityError` if peers that trust the root would not accept certificates signed with these keys. */
  constructor(keys: AuthorityKeys, now: number, random: RandomBytes = randomBytes) {
    this.keys = keys
    this.#loaded = loadAuthority(keys)
    this.#random = random
    const { keyIdentifier } = this.#loaded
    this.#authorityKeyIdentifier = keyIdentifier === undefined ? [] : [authorityKeyIdentifier(keyIdentifier)]
    this.#requireAlive(now)
  }

  /** SHA-256 of the root's DER, lower-case hex. */
  get fingerprint(): string {
    return this.#loaded.root.fingerprint
  }

  /** PEM of every trusted root, without duplicates. */
  get bundle(): string {
    return this.#loaded.roots.map(({ pem }) => pem).join("")
  }

  get rootNotAfter(): number {
    return this.#loaded.root.notAfter
  }

  get signerNotAfter(): number {
    return this.#loaded.signerNotAfter
  }

  /** Signs a workload's certificate. */
  sign({ publicKey, identity, pod, ttlMs, now }: SignRequest): SignedCertificate {
    const names = { uris: [requireIdentity(identity)], dnsNames: [], ipAddresses: [] }
    const extensions = [SERVER_AND_CLIENT, ...(pod === undefined ? [] : [workloadPod(pod)])]
    return this.#issue(publicKey, names, extensions, ttlMs, now)
  }

  /** Signs a certificate for a listener of the control plane, which callers address by name. */
  signServer({ publicKey, dnsNames, ipAddresses, identity, ttlMs, now }: ServerSignRequest): SignedCertificate {
    const names: AltNames = {
      uris: identity === undefined ? [] : [requireIdentity(identity)],
      dnsNames: dnsNames.map(requireDnsName),
      ipAddresses: ipAddresses.map(addressOctets),
    }
    if (names.dnsNames.length + names.ipAddresses.length === 0) {
      throw new IdentityError("bad-subject", "a server certificate needs a DNS name or an address")
    }
    return this.#issue(publicKey, names, [identity === undefined ? SERVER_ONLY : SERVER_AND_CLIENT], ttlMs, now)
  }

  #issue(
    publicKey: Uint8Array,
    names: AltNames,
    extensions: readonly Buffer[],
    ttlMs: number,
    now: number,
  ): SignedCertificate {
    this.#requireAlive(now)
    if (!(ttlMs >= SECOND)) throw new IdentityError("bad-subject", `a certificate cannot be valid for ${ttlMs} ms`)
    const { isRsa } = requireKey(publicKey)
    const { issuer, intermediates, notAfter: end, key: signingKey, algorithm } = this.#loaded
    const serial = newSerial(this.#random)
    // INVARIANT: never beyond the expiry of any issuer in the chain, or peers would reject a leaf that is not expired
    // itself.
    const notAfter = Math.floor(Math.min(now + ttlMs, end) / SECOND) * SECOND
    const der = buildCertificate(
      {
        serial,
        issuer,
        subject: NO_NAME,
        notBefore: now - BACKDATE_MS,
        notAfter,
        publicKey,
        extensions: [
          basicConstraints(false),
          isRsa ? RSA_LEAF_KEY_USAGE : LEAF_KEY_USAGE,
          ...extensions,
          ...this.#authorityKeyIdentifier,
          subjectAltName(names),
        ],
      },
      signingKey,
      algorithm,
    )
    const certificateChain = writePem("CERTIFICATE", der) + intermediates
    return { certificateChain, serial: serial.toString("hex").toUpperCase(), notAfter }
  }

  #requireAlive(now: number): void {
    // Written so that an invalid date fails closed.
    if (!(this.#loaded.notAfter > now)) {
      throw new IdentityError("expired-signer", "the signing certificate or its root has expired; replace it")
    }
  }
}

function requireIdentity(identity: string): string {
  const parsed = parseSpiffeId(identity)
  if (parsed === undefined) throw new IdentityError("bad-subject", `not a workload identity: \`${identity}\``)
  return parsed.uri
}

function requireDnsName(name: string): string {
  if (!DNS_NAME.test(name)) throw new IdentityError("bad-subject", `not a DNS name: \`${name}\``)
  return name
}

function addressOctets(text: string): Buffer {
  const address = parseIp(text)
  if (address === undefined) throw new IdentityError("bad-subject", `not an IP address: \`${text}\``)
  const octets = Buffer.alloc(16)
  for (const [index, word] of address.words.entries()) octets.writeUInt32BE(word, 4 * index)
  return address.family === 4 ? octets.subarray(12) : octets
}

/**
 * Checks the structure of a public key, which is then copied unchanged: OpenSSL takes longer to parse and encode a key
 * than to sign. The caller has parsed the key already, to check that its holder has the private half.
 */
function requireKey(spki: Uint8Array): { readonly isRsa: boolean } {
  const parts = readWithin(readOnly(spki, TAG.sequence), TAG.sequence)
  const [algorithm] = readWithin(parts?.[0], TAG.sequence) ?? []
  if (parts?.length !== 2 || algorithm === undefined || wholeBits(parts[1]) === undefined) {
    throw new IdentityError("bad-subject", "the public key cannot be read")
  }
  return { isRsa: algorithm.raw.equals(RSA_ENCRYPTION) }
}
