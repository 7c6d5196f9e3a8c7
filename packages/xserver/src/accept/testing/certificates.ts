// SPDX-License-Identifier: Apache-2.0
// Authorities and certificates for tests, made in memory: valid ones, expired ones, of another trust domain, and with
// names that no honest authority would sign. Node and openssl parse them, so mistakes here show up.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import type { TlsMaterial } from "../../config/configuration.js"
import { der, objectId, pem, sequence, utcTime } from "./der.js"

export interface Issued {
  readonly certificate: string
  readonly privateKey: string
  /** Upper-case hex. */
  readonly serial: string
}

export interface LeafOptions {
  /** One URI per entry; the default is one good identity. */
  readonly uris?: readonly string[]
  readonly dns?: readonly string[]
  readonly commonName?: string
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** Raw contents of the extension, in place of all alternative names. */
  readonly subjectAltName?: Buffer
  /** Extended key usages; client and server authentication by default. */
  readonly usages?: readonly ("client" | "server")[]
  /** Further extensions, DER-encoded. */
  readonly extensions?: readonly Buffer[]
}

const ECDSA_SHA256 = sequence(objectId("1.2.840.10045.4.3.2"))
const HOUR = 3_600_000
const USAGES = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const

export const GOOD_ID = "spiffe://cluster.local/ns/shop/sa/frontend"
export const OWN_ID = "spiffe://cluster.local/ns/shop/sa/orders"

export class Authority {
  readonly certificate: string
  readonly #key: KeyObject
  readonly #name: Buffer

  /** `above` signs this authority's certificate, if given. */
  constructor(commonName = "Merlon test authority", above?: Authority) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    this.#key = privateKey
    this.#name = nameOf(commonName)
    const extensions = [
      extension("2.5.29.19", true, sequence(der(0x01, Buffer.from([0xff])))),
      extension("2.5.29.15", true, der(0x03, Buffer.from([0x01, 0x06]))),
    ]
    const validity = { from: new Date(Date.now() - HOUR), to: new Date(Date.now() + 24 * HOUR) }
    const signer = above ?? this
    this.certificate = signer.#sign(this.#name, publicKey, validity, extensions, randomBytes(8)).certificate
  }

  issue(options: LeafOptions = {}): Issued {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { uris = [GOOD_ID], dns = [], commonName, usages = ["server", "client"] } = options
    const names = options.subjectAltName ?? sequence(...uris.map(uriName), ...dns.map(dnsName))
    const subject = commonName === undefined ? sequence() : nameOf(commonName)
    const extensions = [
      extension("2.5.29.15", true, der(0x03, Buffer.from([0x05, 0xa0]))),
      extension("2.5.29.37", false, sequence(...usages.map(usage => objectId(USAGES[usage])))),
      ...(options.extensions ?? []),
    ]
    if (names.length > 2) extensions.push(extension("2.5.29.17", true, names))
    const from = options.notBefore ?? new Date(Date.now() - HOUR)
    const to = options.notAfter ?? new Date(Date.now() + HOUR)
    const { certificate, serial } = this.#sign(subject, publicKey, { from, to }, extensions, randomBytes(8))
    return { certificate, serial, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString() }
  }

  /** The credentials of a proxy of this authority. */
  material(options: LeafOptions = { uris: [OWN_ID] }): TlsMaterial {
    const { certificate, privateKey } = this.issue(options)
    return { certificateChain: certificate, privateKey, trustBundle: this.certificate }
  }

  #sign(
    subject: Buffer,
    publicKey: KeyObject,
    { from, to }: { readonly from: Date; readonly to: Date },
    extensions: readonly Buffer[],
    serialBytes: Buffer,
  ): { readonly certificate: string; readonly serial: string } {
    // A DER integer must be positive and without a leading zero byte.
    serialBytes[0] = ((serialBytes[0] ?? 0) & 0x3f) | 0x40
    const signed = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, serialBytes),
      ECDSA_SHA256,
      this.#name,
      sequence(utcTime(from), utcTime(to)),
      subject,
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa3, sequence(...extensions)),
    )
    const signature = der(0x03, Buffer.from([0]), sign("sha256", signed, this.#key))
    const certificate = pem("CERTIFICATE", sequence(signed, ECDSA_SHA256, signature))
    return { certificate, serial: serialBytes.toString("hex").toUpperCase() }
  }
}

export function uriName(uri: string): Buffer {
  return der(0x86, Buffer.from(uri, "latin1"))
}

export function dnsName(name: string): Buffer {
  return der(0x82, Buffer.from(name, "latin1"))
}

export function extension(id: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [der(0x01, Buffer.from([0xff]))] : []
  return sequence(objectId(id), ...flag, der(0x04, value))
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId("2.5.4.3"), der(0x0c, Buffer.from(commonName)))))
}
