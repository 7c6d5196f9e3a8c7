// SPDX-License-Identifier: Apache-2.0
// A certificate authority for tests, with certificates for both ends of a TLS connection.

import "reflect-metadata"
import { webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
const HOUR = 3_600_000

export interface Credentials {
  readonly cert: string
  readonly key: string
}

export class TestAuthority {
  readonly #keys: webcrypto.CryptoKeyPair
  readonly #root: x509.X509Certificate

  private constructor(keys: webcrypto.CryptoKeyPair, root: x509.X509Certificate) {
    this.#keys = keys
    this.#root = root
  }

  static async create(): Promise<TestAuthority> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])
    const extensions = [new x509.BasicConstraintsExtension(true, undefined, true)]
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(),
      name: "CN=Test authority",
      keys,
      signingAlgorithm: ALGORITHM,
      extensions,
    })
    return new TestAuthority(keys, root)
  }

  get ca(): string {
    return this.#root.toString("pem")
  }

  async issue(uri: string): Promise<Credentials> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(),
      subject: "CN=leaf",
      issuer: this.#root.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "url", value: uri }])],
    })
    const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64")
    return {
      cert: certificate.toString("pem"),
      key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
    }
  }
}

function validity(): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + HOUR) }
}
