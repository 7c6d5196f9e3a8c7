// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import "reflect-metadata"
import { createPrivateKey, createPublicKey, generateKeyPairSync, webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { element } from "../der/write.js"
import { openssl } from "../testing/openssl.js"
import { makeSigningRequest } from "./make.js"
import { readSigningRequest } from "./read.js"

/** An RSA key for all cases, because generating one takes longer than the rest of a case. */
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" })

function opensslRequest(arguments_: string): Buffer {
  const command = `req -new -nodes -outform DER -keyout key -out csr -subj /CN=admin ${arguments_}`
  return openssl({ "rsa-2048": RSA }, command).written("csr")
}

describe("a signing request of ours", () => {
  const { privateKey, request } = makeSigningRequest()

  it("is valid for openssl", () => {
    const run = openssl({ csr: request }, "req -in csr -inform DER -noout -verify -text")
    expect(run.output).toContain("verify OK")
    expect(run.output).toMatch(/Subject: *\n/)
  })

  it("is valid for another library", async () => {
    expect(await new x509.Pkcs10CertificateRequest(request).verify()).toBe(true)
  })

  it("contains only the public half of the key", () => {
    const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" })
    expect(readSigningRequest(request)).toEqual({ ok: true, publicKey })
    const secret = Buffer.from(createPrivateKey(privateKey).export({ format: "jwk" }).d ?? "", "base64url")
    expect(secret).toHaveLength(32)
    expect(request.includes(secret)).toBe(false)
  })

  it("is different each time", () => {
    expect(makeSigningRequest().request.equals(request)).toBe(false)
  })
})

describe("parsing a signing request", () => {
  it.each([
    "-newkey ec -pkeyopt ec_paramgen_curve:P-256",
    "-newkey ec -pkeyopt ec_paramgen_curve:P-384 -sha384",
    "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -sha512",
    "-key rsa-2048",
    "-newkey rsa:3072 -sha512",
    "-key rsa-2048 -addext subjectAltName=URI:spiffe://cluster.local/ns/a/sa/admin",
  ])("takes only the key of openssl's `%s`", arguments_ => {
    const request = opensslRequest(arguments_)
    const publicKey = Buffer.from(new x509.Pkcs10CertificateRequest(request).publicKey.rawData)
    expect(readSigningRequest(request)).toEqual({ ok: true, publicKey })
  })

  it("takes the key of another library's request", async () => {
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
    const request = await x509.Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: algorithm })
    expect(readSigningRequest(new Uint8Array(request.rawData))).toMatchObject({ ok: true })
  })

  it.each([
    ["-newkey rsa:1024", "an RSA key of 1024 bits is not accepted; use 2048 to 4096"],
    ["-newkey rsa:2048 -pkeyopt rsa_keygen_pubexp:3", "the exponent of the RSA key is not accepted; use 65537"],
    ["-key rsa-2048 -sha1", "signed with an unknown algorithm"],
    ["-key rsa-2048 -sigopt rsa_padding_mode:pss", "signed with an unknown algorithm"],
    ["-newkey rsa-pss", "a key of type `rsa-pss` is not accepted"],
    ["-newkey ec -pkeyopt ec_paramgen_curve:P-521", "on another curve; use P-256 or P-384"],
    ["-newkey ec -pkeyopt ec_paramgen_curve:secp256k1", "on another curve"],
    ["-newkey ec -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit", "key encoding is not supported"],
    ["-newkey ed25519", "a key of type `ed25519` is not accepted"],
  ])("rejects openssl's `%s`", (arguments_, message) => {
    expect(readSigningRequest(opensslRequest(arguments_))).toEqual({
      ok: false,
      message: expect.stringContaining(message),
    })
  })

  it("rejects a compressed point", () => {
    const run = openssl(
      {},
      "ecparam -name prime256v1 -genkey -conv_form compressed -noout -out key",
      "ec -in key -conv_form compressed -out key",
      "req -new -key key -outform DER -subj /CN=x -out csr",
    )
    expect(readSigningRequest(run.written("csr"))).toMatchObject({ ok: false })
  })

  const good = makeSigningRequest().request

  it.each<[string, Uint8Array]>([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("-----BEGIN CERTIFICATE REQUEST-----")],
    ["data after the request", Buffer.concat([good, Buffer.from([0])])],
    ["a truncated request", good.subarray(0, -1)],
    ["a request wrapped in another", element(0x30, good)],
    ["endless nesting", Array.from({ length: 4000 }).reduce<Buffer>(inner => element(0x30, inner), Buffer.alloc(0))],
  ])("rejects %s", (_, bytes) => {
    expect(readSigningRequest(bytes)).toMatchObject({ ok: false })
  })

  it("rejects an oversized request before it parses it", () => {
    const message = expect.stringContaining("longer than 16384 bytes")
    expect(readSigningRequest(Buffer.alloc(16 * 1024 + 1))).toEqual({ ok: false, message })
  })

  it("rejects every request with one changed bit", () => {
    // Every bit of the information is signed, and the rest is the signature and its algorithm.
    for (let bit = 0; bit < good.length * 8; bit++) {
      const changed = Buffer.from(good)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(readSigningRequest(changed).ok, `bit ${bit}`).toBe(false)
    }
  })

  it("returns a value for every mutation of valid requests", () => {
    const requests = [good, opensslRequest("-newkey rsa:2048")]
    const edit = fc.record({
      at: fc.nat(),
      cut: fc.nat({ max: 40 }),
      put: fc.uint8Array({ maxLength: 40 }),
    })
    fc.assert(
      fc.property(fc.constantFrom(...requests), fc.array(edit, { minLength: 1, maxLength: 4 }), (request, edits) => {
        const changed = edits.reduce<Buffer>((bytes, { at, cut, put }) => {
          const start = at % (bytes.length + 1)
          return Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start + cut)])
        }, request)
        expect(readSigningRequest(changed).ok).toBe(changed.equals(request))
      }),
      { numRuns: 2000 * inject("effort") },
    )
  })

  it("returns a value for any octets", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000, size: "max" }), bytes => {
        expect(readSigningRequest(bytes).ok).toBe(false)
      }),
      { numRuns: 500 * inject("effort") },
    )
  })
})
