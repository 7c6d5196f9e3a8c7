// SPDX-License-Identifier: Apache-2.0
// A self-signed X.509 certificate around a key pair, in as little DER as OpenSSL accepts (RFC 5280 section 4.1).

import { type KeyObject, sign } from "node:crypto"

const SHA256_WITH_RSA = Buffer.from("300d06092a864886f70d01010b0500", "hex")
const ECDSA_WITH_SHA256 = Buffer.from("300a06082a8648ce3d040302", "hex")
const NAME = Buffer.from("300f310d300b06035504030c0474657374", "hex") // CN=test
const VALIDITY = der(0x30, der(0x17, Buffer.from("250101000000Z")), der(0x17, Buffer.from("260101000000Z")))
const VERSION_3 = Buffer.from("a003020102", "hex")
const SERIAL = Buffer.from("020101", "hex")

export function selfSigned(publicKey: KeyObject, privateKey: KeyObject): string {
  const algorithm = publicKey.asymmetricKeyType === "rsa" ? SHA256_WITH_RSA : ECDSA_WITH_SHA256
  const spki = publicKey.export({ type: "spki", format: "der" })
  const body = der(0x30, VERSION_3, SERIAL, algorithm, NAME, VALIDITY, NAME, spki)
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  const lines =
    der(0x30, body, algorithm, signature)
      .toString("base64")
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
