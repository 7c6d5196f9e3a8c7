// SPDX-License-Identifier: Apache-2.0
// Certificates that OpenSSL writes, some with names that only an attacker would request, and some that are modified in
// ways that no authority would.
// @module-tag needs/openssl

import { generateKeyPairSync, X509Certificate } from "node:crypto"
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { type DerElement, readOnly, readWithin } from "../der/read.js"
import { contextTag, TAG } from "../der/tags.js"
import { boolean, element, objectIdentifier, octetString, sequence } from "../der/write.js"
import { openssl } from "../testing/openssl.js"
import { extension, GENERAL_NAME, OID } from "./extensions.js"
import { inspectCertificate } from "./inspect.js"

const ID = "spiffe://cluster.local/ns/shop/sa/frontend"
const ADMIN = "spiffe://cluster.local/ns/admin/sa/root"
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" })

/** A certificate that is self-signed by OpenSSL, with these extensions. */
function certificate(...extensions: readonly string[]): Buffer {
  const config = ["[req]", "distinguished_name=dn", "prompt=no", "x509_extensions=v3", "[dn]", "CN=x", "[v3]"]
  const files = { "key.pem": key, "req.cnf": [...config, ...extensions, ""].join("\n") }
  return openssl(files, "req -x509 -key key.pem -config req.cnf -outform DER -out made.der").written("made.der")
}

/** A certificate whose alternative names are these bytes, valid or not: OpenSSL signs anything. */
function withNames(value: Buffer): Buffer {
  return certificate(`subjectAltName=DER:${value.toString("hex")}`)
}

const uri = (text: string) => element(GENERAL_NAME.uri, Buffer.from(text, "latin1"))
const dns = (text: string) => element(GENERAL_NAME.dns, Buffer.from(text, "latin1"))
const namesOf = (bytes: Buffer) => inspectCertificate(bytes)?.names

const honest = certificate(`subjectAltName=critical,URI:${ID},DNS:a.example,DNS:b.example,IP:127.0.0.1`)

describe("an ordinary certificate", () => {
  it("has the names that OpenSSL prints", () => {
    const printed = new X509Certificate(honest).subjectAltName
    expect(printed).toBe(`URI:${ID}, DNS:a.example, DNS:b.example, IP Address:127.0.0.1`)
    expect(namesOf(honest)).toEqual({ uris: [ID], dns: ["a.example", "b.example"] })
    expect(inspectCertificate(honest)?.identity?.uri).toBe(ID)
  })

  it("has no names if none were requested", () => {
    const plain = certificate("basicConstraints=CA:FALSE")
    expect(inspectCertificate(plain)).toMatchObject({ names: { uris: [], dns: [] }, identity: undefined })
  })

  it("says whether it is an authority, its key usage and its path length", () => {
    const authority = certificate("basicConstraints=critical,CA:TRUE,pathlen:3", "keyUsage=critical,keyCertSign")
    expect(inspectCertificate(authority)).toMatchObject({ authority: true, pathLength: 3, signsCertificates: true })
    const leaf = certificate("basicConstraints=CA:FALSE", "keyUsage=digitalSignature")
    expect(inspectCertificate(leaf)).toMatchObject({ authority: false, signsCertificates: false })
  })
})

describe("a certificate that may sign others proves no workload", () => {
  it.each([
    ["an authority", ["basicConstraints=critical,CA:TRUE"]],
    ["one that signs certificates", ["basicConstraints=CA:FALSE", "keyUsage=digitalSignature,keyCertSign"]],
    ["one that signs revocations", ["keyUsage=digitalSignature,cRLSign"]],
  ])("%s", (_, extensions) => {
    const read = inspectCertificate(certificate(`subjectAltName=URI:${ID}`, ...extensions))
    expect(read).toMatchObject({ names: { uris: [ID], dns: [] }, identity: undefined })
  })

  it("a leaf proves one", () => {
    const usage = "keyUsage=critical,digitalSignature,keyEncipherment"
    const leaf = certificate(`subjectAltName=URI:${ID}`, "basicConstraints=critical,CA:FALSE", usage)
    expect(inspectCertificate(leaf)?.identity?.uri).toBe(ID)
  })
})

describe("names that are parsed literally and are not an identity", () => {
  it.each<[string, Buffer, ReturnType<typeof namesOf>]>([
    ["two URIs", sequence(uri(ID), uri(ADMIN)), { uris: [ID, ADMIN], dns: [] }],
    ["the same URI twice", sequence(uri(ID), uri(ID)), { uris: [ID, ID], dns: [] }],
    ["a host name that prints like a URI", sequence(dns(`x, URI:${ID}`)), { uris: [], dns: [`x, URI:${ID}`] }],
    [
      "a URI that prints like two names",
      sequence(uri(`${ID}, URI:${ADMIN}`)),
      { uris: [`${ID}, URI:${ADMIN}`], dns: [] },
    ],
    ["an empty URI", sequence(uri("")), { uris: [""], dns: [] }],
    ["no name at all", sequence(), { uris: [], dns: [] }],
    ["a URI with a constructed tag", sequence(element(contextTag(6, true), Buffer.from(ID))), { uris: [], dns: [] }],
  ])("%s", (_, value, names) => {
    const read = inspectCertificate(withNames(value))
    expect(read?.names).toEqual(names)
    expect(read?.identity).toBeUndefined()
  })
})

describe("names that make the certificate unreadable", () => {
  const idBytes = Buffer.from(ID)
  it.each<[string, Buffer]>([
    ["a URI followed by a NUL", sequence(uri(`${ID}\0.evil.example`))],
    ["a host name with a NUL, next to a valid URI", sequence(uri(ID), dns("a.example\0.evil"))],
    ["a URI with a line break", sequence(uri(`${ID}\n`))],
    ["a URI with a byte beyond ASCII", sequence(uri(`${ID}\xf6`))],
    ["a URI with a UTF-8 letter", sequence(element(GENERAL_NAME.uri, Buffer.from(`${ID}ö`, "utf8")))],
    ["data after the list", Buffer.concat([sequence(uri(ID)), Buffer.from([5, 0])])],
    ["a second list after the first", Buffer.concat([sequence(uri(ID)), sequence(uri(ADMIN))])],
    ["a set instead of the list", element(TAG.set, uri(ID))],
    ["a truncated list", sequence(dns("a"), uri(ID)).subarray(0, 20)],
    ["a length that is not in its shortest form", sequence(Buffer.from([0x86, 0x81, ID.length]), idBytes)],
    ["a length with a leading zero", sequence(Buffer.from([0x86, 0x82, 0, ID.length]), idBytes)],
    ["a length beyond the end", sequence(Buffer.from([0x86, ID.length + 1]), idBytes)],
    ["a length that is -1 as a signed number", sequence(Buffer.from([0x86, 0x84, 255, 255, 255, 255]), idBytes)],
    ["an indefinite length", sequence(Buffer.from([0x86, 0x80]), idBytes, Buffer.from([0, 0]))],
    ["a tag of several octets", sequence(Buffer.from([0x9f, 0x06, ID.length]), idBytes)],
    ["too many names", sequence(uri(ID), ...Array.from({ length: 256 }, () => dns("a")))],
  ])("%s", (_, value) => {
    expect(inspectCertificate(withNames(value))).toBeUndefined()
  })
})

describe("a modified certificate", () => {
  const parts = readWithin(readOnly(honest, TAG.sequence), TAG.sequence) ?? []
  const signed = readWithin(parts[0], TAG.sequence) ?? []
  const explicit = contextTag(3, true)
  const extensions = Buffer.concat(listOf(signed.find(({ tag }) => tag === explicit)).map(({ raw }) => raw))
  const own = signed.filter(({ tag }) => tag !== explicit).map(({ raw }) => raw)
  const rebuilt = (...signedPart: readonly Uint8Array[]) =>
    sequence(sequence(...signedPart), ...parts.slice(1).map(({ raw }) => raw))
  const extended = (...more: readonly Uint8Array[]) => rebuilt(...own, element(explicit, sequence(extensions, ...more)))
  const names = extension(OID.subjectAltName, false, sequence(uri(ADMIN)))
  const unknown = objectIdentifier("1.2.3.4")
  const value = octetString(Buffer.alloc(1))

  it("is parsed as before if nothing was changed", () => {
    expect(extended()).toEqual(honest)
    expect(namesOf(extended(extension("1.2.3.4", true, Buffer.alloc(1))))).toEqual(namesOf(honest))
  })

  it.each<[string, Buffer]>([
    ["names in two extensions", extended(names)],
    [
      "constraints in two extensions",
      extended(...[1, 2].map(() => extension(OID.basicConstraints, true, sequence(boolean(true))))),
    ],
    ["two lists of extensions", rebuilt(...own, ...[1, 2].map(() => element(explicit, sequence(extensions))))],
    [
      "two lists of extensions under one tag",
      rebuilt(...own, element(explicit, sequence(extensions), sequence(extensions))),
    ],
    ["data after an extension's value", extended(sequence(unknown, value, value))],
    ["data before an extension's value", extended(sequence(unknown, unknown, value))],
    ["an extension without identifier", extended(sequence(value))],
    ["an extension with an invalid identifier", extended(sequence(value, value))],
    ["an extension without value", extended(sequence(unknown))],
    ["an invalid extension", extended(unknown)],
    ["no version", rebuilt(...own.slice(1), element(explicit, sequence(extensions)))],
    [
      "a negative path length",
      extended(extension(OID.basicConstraints, true, sequence(boolean(true), Buffer.from([2, 1, 0xff])))),
    ],
    ["data after it", Buffer.concat([honest, Buffer.from([0])])],
    ["a second certificate after it", Buffer.concat([honest, honest])],
    ["half of it", honest.subarray(0, honest.length / 2)],
    ["nothing of it", Buffer.alloc(0)],
  ])("%s", (_, bytes) => {
    expect(inspectCertificate(bytes)).toBeUndefined()
  })
})

it("never throws and never finds a name that is not in the certificate", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
      expect(inspectCertificate(bytes)?.names.uris ?? []).not.toContain(ID)
    }),
  )
  fc.assert(
    fc.property(fc.nat(honest.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const mutated = Buffer.from(honest)
      mutated[at] = (mutated[at] ?? 0) ^ flip
      const { uris, dns: hosts } = namesOf(mutated) ?? { uris: [], dns: [] }
      for (const name of [...uris, ...hosts]) expect(mutated.includes(name, "latin1")).toBe(true)
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})

function listOf(extensions: DerElement | undefined): readonly DerElement[] {
  return readWithin(extensions && readOnly(extensions.value, TAG.sequence), TAG.sequence) ?? []
}
