// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CertificateAuthority } from "../authority/certificate-authority.js"
import { createRoot } from "../authority/root.js"
import { makeSigningRequest } from "../request/make.js"
import { readSigningRequest } from "../request/read.js"
import { mergeBundles, readBundle } from "./bundle.js"
import { signerOf } from "./chain.js"
import { certificateFacts } from "./facts.js"

const NOW = Math.floor(Date.now() / 1000) * 1000
const [A, B, C] = ["a", "b", "c"].map(trustDomain => createRoot({ trustDomain, now: NOW })) as [Keys, Keys, Keys] // three in, three out
type Keys = ReturnType<typeof createRoot>

function leafOf(keys: Keys, identity = "spiffe://a/ns/b/sa/c") {
  const request = readSigningRequest(makeSigningRequest().request)
  if (!request.ok) throw new Error(request.message)
  return new CertificateAuthority(keys, NOW).sign({ publicKey: request.publicKey, identity, ttlMs: 60_000, now: NOW })
}

describe("a trust bundle", () => {
  it("contains each root once, in the order of first occurrence", () => {
    expect(mergeBundles(B.root + A.root, A.root, C.root + B.root)).toBe(B.root + A.root + C.root)
  })

  it("is the same with any text between certificates and any line ends", () => {
    const untidy = `# our roots\r\nsubject=O = a\n${A.root.replaceAll("\n", "\r\n")}\n\n  ${B.root.trim()}`
    expect(mergeBundles(untidy)).toBe(A.root + B.root)
  })

  it("has each root's fingerprint and expiry", () => {
    const read = readBundle(A.root)
    expect(read.ok && read.certificates).toMatchObject([
      {
        fingerprint: new X509Certificate(A.root).fingerprint256.replaceAll(":", "").toLowerCase(),
        notAfter: certificateFacts(A.root).notAfter,
      },
    ])
  })

  it.each<[string, string, string]>([
    ["nothing", "", "holds no certificate"],
    ["only text", "our roots", "holds no certificate"],
    ["a certificate without an end", A.root.replace(/-----END.*/, ""), "that begins in line 1 has no end"],
    ["a certificate that begins in another", A.root.replace(/-----END.*/, "") + B.root, "has no end"],
    ["an end without a beginning", A.root.replace(/-----BEGIN.*/, ""), "ends a block that has no beginning"],
    ["a damaged boundary", A.root.replace("BEGIN ", "BEGIN"), "line 1 is an invalid PEM boundary"],
    ["a certificate that lost a line", A.root.replace(/\n.{64}\n/, "\n"), "block 1 is not a readable certificate"],
    ["invalid base64", A.root.replace(/\n.{64}\n/, "\n!\n"), "that begins in line 1 is not base64"],
    ["a private key", A.root + A.privateKey, "block 2 is `PRIVATE KEY`"],
    ["a workload's certificate", A.root + leafOf(A).certificateChain, "certificate 2 is not a CA certificate"],
    ["more than the limit", " ".repeat(1024 * 1024 + 1), "longer than 1048576 characters"],
  ])("rejects %s", (_, pem, message) => {
    expect(readBundle(pem)).toEqual({ ok: false, message: expect.stringContaining(message) })
    expect(() => mergeBundles(pem)).toThrow(message)
  })

  it("returns a value for any text", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom("-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n", A.root, "MIIB", "\n"),
    )
    fc.assert(fc.property(fc.array(piece), pieces => typeof readBundle(pieces.join("")).ok === "boolean"))
  })
})

describe("the signer of a chain", () => {
  const leaf = leafOf(A).certificateChain

  it.each<[string, string, string, Keys | undefined]>([
    ["is the root that signed", leaf, B.root + A.root, A],
    ["is unknown if the bundle does not contain it", leaf, B.root, undefined],
    ["of a root is itself", A.root, A.root, A],
    ["is unknown for an invalid chain", "leaf", A.root, undefined],
    ["is unknown for an invalid bundle", leaf, "roots", undefined],
    [
      "is not the signer of an unrelated certificate in the chain",
      leafOf(B).certificateChain + A.root,
      A.root,
      undefined,
    ],
  ])("%s", (_, chain, bundle, expected) => {
    expect(signerOf(chain, bundle)).toBe(expected && new CertificateAuthority(expected, NOW).fingerprint)
  })
})

describe("the facts of a certificate", () => {
  it("are those it was signed with", () => {
    const { certificateChain, serial, notAfter } = leafOf(A)
    const spiffeId = "spiffe://a/ns/b/sa/c"
    expect(certificateFacts(certificateChain)).toEqual({ serial, notBefore: NOW - 120_000, notAfter, spiffeId })
  })

  it("of a root name no identity", () => {
    expect(certificateFacts(A.root).spiffeId).toBeUndefined()
  })

  it("are rejected for an invalid certificate", () => {
    expect(() => certificateFacts("leaf")).toThrow("the certificate chain cannot be used: holds no certificate")
  })
})
