// SPDX-License-Identifier: Apache-2.0
//
// Subjects that are made to be misread. Certificates are written by the library or, where it would reject the content,
// assembled byte by byte. OpenSSL's text for each shows why the subject must not be read from text.

import "reflect-metadata"
import { X509Certificate as NodeCertificate, webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { beforeAll, describe, expect, it } from "vitest"
import { readSubject } from "./subject.js"

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const
const CN = "2.5.4.3"
const O = "2.5.4.10"
const UTF8 = 0x0c
const PRINTABLE = 0x13
const TELETEX = 0x14
const BMP = 0x1e

let keys: webcrypto.CryptoKeyPair

beforeAll(async () => {
  keys = await webcrypto.subtle.generateKey(EC, true, ["sign", "verify"])
})

const tlv = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const oid = (text: string): Buffer => {
  const [a = 0, b = 0, ...rest] = text.split(".").map(Number)
  return tlv(0x06, Buffer.from([a * 40 + b, ...rest]))
}

type Part = readonly [type: string, value: string | Buffer, tag?: number]

/**
 * One relative distinguished name per part; a list of parts is one relative distinguished name with several attributes.
 */
async function certificate(...parts: (Part | readonly Part[])[]): Promise<Buffer> {
  const attribute = ([type, value, tag = UTF8]: Part): Buffer =>
    tlv(0x30, oid(type), tlv(tag, Buffer.isBuffer(value) ? value : Buffer.from(value)))
  const isOne = (part: Part | readonly Part[]): part is Part => typeof part[0] === "string"
  const name = tlv(0x30, ...parts.map(part => tlv(0x31, ...(isOne(part) ? [part] : part).map(attribute))))
  const made = await x509.X509CertificateGenerator.create({
    ...{ serialNumber: "01", subject: new x509.Name(name), issuer: "CN=ca", signingAlgorithm: EC },
    ...{ publicKey: keys.publicKey, signingKey: keys.privateKey },
  })
  return Buffer.from(made.rawData)
}

describe("a subject", () => {
  it.each<[string, readonly (Part | readonly Part[])[], string, string[]]>([
    [
      "names its user and groups",
      [
        [CN, "jane"],
        [O, "a"],
        [O, "b"],
      ],
      "jane",
      ["a", "b"],
    ],
    [
      "may use either common encoding",
      [
        [CN, "jane", PRINTABLE],
        [O, "a", PRINTABLE],
      ],
      "jane",
      ["a"],
    ],
    [
      "may have several attributes in one relative distinguished name",
      [
        [
          [CN, "jane"],
          [O, "a"],
        ],
      ],
      "jane",
      ["a"],
    ],
    [
      "with commas and equals signs in a name is one name",
      [[CN, "jane, O=system:masters"]],
      "jane, O=system:masters",
      [],
    ],
    ["with plus signs is one name", [[CN, "jane+O=system:masters"]], "jane+O=system:masters", []],
    ["with slashes is one name", [[CN, "jane/O=system:masters"]], "jane/O=system:masters", []],
    ["with backslashes keeps them", [[CN, "jane\\,O\\=x"]], "jane\\,O\\=x", []],
    [
      "ignores other attributes",
      [
        [CN, "jane"],
        ["2.5.4.11", "system:masters"],
      ],
      "jane",
      [],
    ],
  ])("%s", async (_, parts, name, groups) => {
    expect(readSubject(await certificate(...parts))).toEqual({ name, groups })
  })

  it.each<[string, readonly (Part | readonly Part[])[]]>([
    ["a line break that would print as another attribute", [[CN, "jane\nO=system:masters"]]],
    [
      "a line break in a group",
      [
        [CN, "jane"],
        [O, "a\nCN=admin"],
      ],
    ],
    ["a NUL character", [[CN, "admin\0.example"]]],
    ["a mark that reverses the text direction", [[CN, "nimda\u202e"]]],
    ["a zero-width character", [[CN, "ad\u200bmin"]]],
    [
      "two user names",
      [
        [CN, "jane"],
        [CN, "admin"],
      ],
    ],
    [
      "two user names in one relative distinguished name",
      [
        [
          [CN, "jane"],
          [CN, "admin"],
        ],
      ],
    ],
    ["no user name", [[O, "system:masters"]]],
    [
      "an empty user name",
      [
        [CN, ""],
        [O, "system:masters"],
      ],
    ],
    [
      "an empty group",
      [
        [CN, "jane"],
        [O, ""],
      ],
    ],
    ["an ambiguous encoding", [[CN, "jane", TELETEX]]],
    ["an encoding with two bytes per character", [[CN, Buffer.from("\0a\0d\0m\0i\0n", "latin1"), BMP]]],
    [
      "a group in such an encoding",
      [
        [CN, "jane"],
        [O, Buffer.from("\0a", "latin1"), BMP],
      ],
    ],
  ])("gives no user with %s", async (_, parts) => {
    expect(readSubject(await certificate(...parts))).toBeUndefined()
  })

  it("would be an administrator if read from OpenSSL's text", async () => {
    const der = await certificate([CN, "jane\nO=system:masters"])
    const printed = new NodeCertificate(der).subject
    expect(printed.includes("system:masters")).toBe(true)
    expect(readSubject(der)).toBeUndefined()
  })

  it("gives no user when it is truncated or changed, and never throws", async () => {
    const der = await certificate([CN, "jane"], [O, "a"])
    for (let i = 0; i < der.length; i++) {
      readSubject(der.subarray(0, i))
      const flipped = Buffer.from(der)
      flipped[i] = (flipped[i] ?? 0) ^ 0xff
      readSubject(flipped)
    }
    expect(readSubject(Buffer.alloc(0))).toBeUndefined()
  })
})
