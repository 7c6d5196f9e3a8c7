// SPDX-License-Identifier: Apache-2.0
//
// A temporary certificate authority for TLS between store and etcd, as PEM files in a folder.

import "reflect-metadata"
import { webcrypto } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509"

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
const DAY_MS = 86_400_000

export interface Pair {
  readonly certificate: Buffer
  readonly key: Buffer
  readonly certificateFile: string
  readonly keyFile: string
}

export class TestAuthority {
  private constructor(
    readonly folder: string,
    readonly root: X509Certificate,
    readonly keys: webcrypto.CryptoKeyPair,
  ) {}

  static async create(folder: string): Promise<TestAuthority> {
    const keys = await generateKeys()
    const root = await X509CertificateGenerator.createSelfSigned({
      name: "CN=test root",
      keys,
      signingAlgorithm: ALGORITHM,
      notAfter: new Date(Date.now() + DAY_MS),
      extensions: [new BasicConstraintsExtension(true)],
    })
    writeFileSync(join(folder, "ca.pem"), root.toString("pem"))
    return new TestAuthority(folder, root, keys)
  }

  get caFile(): string {
    return join(this.folder, "ca.pem")
  }

  get ca(): Buffer {
    return Buffer.from(this.root.toString("pem"))
  }

  async issue(name: string): Promise<Pair> {
    const keys = await generateKeys()
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: this.root.subject,
      signingKey: this.keys.privateKey,
      publicKey: keys.publicKey,
      signingAlgorithm: ALGORITHM,
      notAfter: new Date(Date.now() + DAY_MS),
      extensions: [new SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])],
    })
    const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)
    const pair: Pair = {
      certificate: Buffer.from(certificate.toString("pem")),
      key: Buffer.from(PemConverter.encode(pkcs8, "PRIVATE KEY")),
      certificateFile: join(this.folder, `${name}.pem`),
      keyFile: join(this.folder, `${name}.key`),
    }
    writeFileSync(pair.certificateFile, pair.certificate)
    writeFileSync(pair.keyFile, pair.key, { mode: 0o600 })
    return pair
  }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])
}
