// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import "reflect-metadata"
import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer, type TLSSocket } from "node:tls"
import * as x509 from "@peculiar/x509"
import { describe, expect, it } from "vitest"
import { makeSigningRequest } from "../request/make.js"
import { readSigningRequest } from "../request/read.js"
import { openssl } from "../testing/openssl.js"
import { signerOf } from "../trust/chain.js"
import { certificateFacts } from "../trust/facts.js"
import type { AuthorityKeys } from "./authority-keys.js"
import { CertificateAuthority } from "./certificate-authority.js"
import { createRoot } from "./root.js"

const NOW = Math.floor(Date.now() / 1000) * 1000
const HOUR = 3_600_000
const IDENTITY = "spiffe://cluster.local/ns/foo/sa/httpbin"
const ROOT = createRoot({ trustDomain: "cluster.local", now: NOW })

function ecKey(namedCurve = "P-256") {
  return generateKeyPairSync("ec", { namedCurve }).publicKey.export({ type: "spki", format: "der" })
}

function holder() {
  const { privateKey, request } = makeSigningRequest()
  const read = readSigningRequest(request)
  if (!read.ok) throw new Error(read.message)
  return { privateKey, publicKey: read.publicKey }
}

describe("a root", () => {
  it("is a strictly valid root for openssl", () => {
    const run = openssl(
      { root: ROOT.root },
      "x509 -in root -noout -text",
      "verify -x509_strict -check_ss_sig -CAfile root root",
    )
    expect(run.output).toContain("root: OK")
    const { output } = openssl({ root: ROOT.root }, "x509 -in root -noout -text")
    expect(output).toMatch(/Basic Constraints: critical\s+CA:TRUE\n/)
    expect(output).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
    expect(output).toContain("O = cluster.local")
    expect(output).toContain("ASN1 OID: prime256v1")
  })

  it("is valid for ten years by default", () => {
    const { notBefore, notAfter } = certificateFacts(ROOT.root)
    expect([NOW - notBefore, notAfter - NOW]).toEqual([120_000, 10 * 365 * 24 * HOUR])
    expect(certificateFacts(createRoot({ trustDomain: "a", lifetimeMs: HOUR, now: NOW }).root).notAfter).toBe(
      NOW + HOUR,
    )
  })

  it("shares neither name, serial nor key with another root", () => {
    const [a, b] = [ROOT, createRoot({ trustDomain: "cluster.local", now: NOW })].map(r => new X509Certificate(r.root))
    expect(a?.subject).not.toBe(b?.subject)
    expect(a?.serialNumber).not.toBe(b?.serialNumber)
    expect(a?.publicKey.equals(b?.publicKey ?? a.publicKey)).toBe(false)
  })

  it("accepts a trust domain that is longer than the limit for an organisation's name", () => {
    const long = createRoot({ trustDomain: `${"a".repeat(100)}.example`, now: NOW })
    expect(new X509Certificate(long.root).subject).toContain(`O=${"a".repeat(64)}\n`)
  })

  it.each([0, -1, Number.NaN])("rejects a lifetime of %s", lifetimeMs => {
    expect(() => createRoot({ trustDomain: "a", lifetimeMs, now: NOW })).toThrow("lifetime of a root must be greater")
  })
})

describe("a workload's certificate", () => {
  const authority = new CertificateAuthority(ROOT, NOW)
  const sign = (publicKey: Uint8Array = ecKey(), ttlMs = HOUR, now = NOW) =>
    authority.sign({ publicKey, identity: IDENTITY, ttlMs, now })

  it("is strictly valid for openssl at both ends of a connection", () => {
    const { certificateChain } = sign()
    for (const purpose of ["sslserver", "sslclient"]) {
      const command = `verify -x509_strict -purpose ${purpose} -CAfile root leaf`
      expect(openssl({ root: ROOT.root, leaf: certificateChain }, command).output).toContain("leaf: OK")
    }
  })

  it("contains nothing but its identity", () => {
    const { certificateChain, serial } = sign()
    const { output } = openssl({ leaf: certificateChain }, "x509 -in leaf -noout -text")
    expect(output).toMatch(new RegExp(`Subject Alternative Name: critical\\s+URI:${IDENTITY}\\n`))
    expect(output).toMatch(/Subject: *\n/)
    expect(output).toMatch(/Key Usage: critical\s+Digital Signature\n/)
    expect(output).toMatch(/Extended Key Usage: *\n\s+TLS Web Server Authentication, TLS Web Client Authentication\n/)
    expect(output).toMatch(/Basic Constraints: critical\s+CA:FALSE\n/)
    expect(output).toContain("Version: 3 (0x2)")
    expect(new X509Certificate(certificateChain).serialNumber).toBe(serial)
    expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/)
  })

  it("is parsed the same by another library", async () => {
    const publicKey = ecKey("P-384")
    const { certificateChain, serial, notAfter } = sign(publicKey)
    const read = new x509.X509Certificate(certificateChain)
    expect(read.subject).toBe("")
    expect(read.issuer).toBe(new x509.X509Certificate(ROOT.root).subject)
    expect(read.serialNumber.toUpperCase()).toBe(serial)
    expect([read.notBefore.getTime(), read.notAfter.getTime()]).toEqual([NOW - 120_000, notAfter])
    expect(Buffer.from(read.publicKey.rawData)).toEqual(publicKey)
    expect(await read.verify({ publicKey: new x509.X509Certificate(ROOT.root).publicKey })).toBe(true)
    const names = read.getExtension(x509.SubjectAlternativeNameExtension)
    expect([names?.critical, names?.names.toJSON()]).toEqual([true, [{ type: "url", value: IDENTITY }]])
  })

  it("allows an RSA key to encipher keys", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const { certificateChain } = sign(publicKey.export({ type: "spki", format: "der" }))
    const { output } = openssl({ leaf: certificateChain }, "x509 -in leaf -noout -text")
    expect(output).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment\n/)
  })

  it("never outlives its issuer", () => {
    const brief = new CertificateAuthority(createRoot({ trustDomain: "a", lifetimeMs: HOUR, now: NOW }), NOW)
    const signed = brief.sign({ publicKey: ecKey(), identity: IDENTITY, ttlMs: 2 * HOUR, now: NOW })
    expect(signed.notAfter).toBe(NOW + HOUR)
    expect(certificateFacts(signed.certificateChain).notAfter).toBe(NOW + HOUR)
  })

  it("is not signed by an expired authority", () => {
    const brief = new CertificateAuthority(createRoot({ trustDomain: "a", lifetimeMs: HOUR, now: NOW }), NOW)
    const late = { publicKey: ecKey(), identity: IDENTITY, ttlMs: HOUR, now: NOW + HOUR }
    expect(() => brief.sign(late)).toThrow("has expired")
    expect(() => new CertificateAuthority(brief.keys, NOW + HOUR)).toThrow("has expired")
  })

  it.each(["", "foo", "spiffe://a", "spiffe://a/ns/b/sa/c/d", "spiffe://a/ns/b/sa/c\nspiffe://a/ns/b/sa/d"])(
    "is not signed for `%s`",
    identity => {
      expect(() => authority.sign({ publicKey: ecKey(), identity, ttlMs: HOUR, now: NOW })).toThrow(
        "not a workload identity",
      )
    },
  )

  it.each([0, -1, Number.NaN])("is not signed for a lifetime of %s", ttlMs => {
    expect(() => sign(ecKey(), ttlMs)).toThrow("cannot be valid for")
  })

  it("is not signed for an invalid key", () => {
    expect(() => sign(Buffer.from("key"))).toThrow("the public key cannot be read")
  })

  it("authenticates both ends of a mutual TLS connection", async () => {
    const [server, client] = [holder(), holder()].map(({ privateKey, publicKey }) => ({
      key: privateKey,
      cert: sign(publicKey).certificateChain,
      ca: ROOT.root,
    }))
    const listener = createServer({ ...server, requestCert: true, rejectUnauthorized: true }).listen(0, "127.0.0.1")
    await once(listener, "listening")
    const port = (listener.address() as AddressInfo).port // TCP servers have this form
    const socket = connect({ ...client, port, host: "127.0.0.1", checkServerIdentity: () => undefined })
    const [peer] = (await once(listener, "secureConnection")) as [TLSSocket] // documented by node:tls
    expect(peer.authorized).toBe(true)
    expect(peer.getPeerX509Certificate()?.subjectAltName).toBe(`URI:${IDENTITY}`)
    socket.destroy()
    peer.destroy()
    listener.close()
  })
})

describe("a server's certificate", () => {
  const authority = new CertificateAuthority(ROOT, NOW)
  const base = { publicKey: ecKey(), dnsNames: [], ipAddresses: [], ttlMs: HOUR, now: NOW }

  it("contains the names that callers use", () => {
    const { certificateChain } = authority.signServer({
      ...base,
      dnsNames: ["merlond.merlon-system.svc", "localhost"],
      ipAddresses: ["127.0.0.1", "::1", "2001:db8::a00:1"],
      identity: "spiffe://cluster.local/ns/merlon-system/sa/merlond",
    })
    const run = openssl(
      { root: ROOT.root, leaf: certificateChain },
      "verify -x509_strict -purpose sslserver -verify_hostname merlond.merlon-system.svc -CAfile root leaf",
      "verify -verify_ip 2001:db8::a00:1 -CAfile root leaf",
      "verify -verify_ip 127.0.0.1 -CAfile root leaf",
    )
    expect(run.output).toContain("leaf: OK")
    expect(certificateFacts(certificateChain).spiffeId).toBe("spiffe://cluster.local/ns/merlon-system/sa/merlond")
  })

  it("without an identity is not valid for clients", () => {
    const { certificateChain } = authority.signServer({ ...base, dnsNames: ["a.b"] })
    const files = { root: ROOT.root, leaf: certificateChain }
    expect(openssl(files, "verify -purpose sslclient -CAfile root leaf").output).toContain(
      "unsuitable certificate purpose",
    )
  })

  it.each([
    [{ dnsNames: ["A b"] }, "not a DNS name"],
    [{ dnsNames: ["a..b"] }, "not a DNS name"],
    [{ dnsNames: ["a.*.b"] }, "not a DNS name"],
    [{ ipAddresses: ["1.2.3"] }, "not an IP address"],
    [{}, "needs a DNS name or an address"],
  ])("rejects %j", (names, message) => {
    expect(() => authority.signServer({ ...base, ...names })).toThrow(message)
  })
})

describe("an authority of the operator", () => {
  const CONFIG = (constraints: string, usage = "keyCertSign,cRLSign") =>
    `[v3]\nbasicConstraints=critical,${constraints}\nkeyUsage=critical,${usage}\nsubjectKeyIdentifier=hash\n`

  function pluggedIn(newkey: string, constraints = "CA:TRUE,pathlen:0", usage?: string): AuthorityKeys {
    const run = openssl(
      { root: ROOT.root, rootkey: ROOT.privateKey, conf: CONFIG(constraints, usage) },
      `req -new -newkey ${newkey} -nodes -keyout key -subj /O=Example/CN=issuing -out csr`,
      "x509 -req -in csr -CA root -CAkey rootkey -days 30 -extfile conf -extensions v3 -set_serial 77 -out cert",
    )
    return {
      certificateChain: run.written("cert").toString(),
      privateKey: run.written("key").toString(),
      root: ROOT.root,
    }
  }

  it.each(["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256", "ec -pkeyopt ec_paramgen_curve:P-384", "ed25519"])(
    "signs with the key type %s",
    newkey => {
      const keys = pluggedIn(newkey)
      const authority = new CertificateAuthority(keys, NOW)
      const { certificateChain } = authority.sign({ publicKey: ecKey(), identity: IDENTITY, ttlMs: HOUR, now: NOW })
      const [leaf = "", issuer = "", ...more] = certificateChain.split(/(?<=-----END CERTIFICATE-----\n)/)
      expect(more).toEqual([])
      const run = openssl({ root: ROOT.root, leaf, issuer }, "verify -x509_strict -CAfile root -untrusted issuer leaf")
      expect(run.output).toContain("leaf: OK")
      expect(authority.fingerprint).toBe(
        new X509Certificate(ROOT.root).fingerprint256.replaceAll(":", "").toLowerCase(),
      )
      expect(signerOf(certificateChain, ROOT.root)).toBe(authority.fingerprint)
    },
  )

  const issuing = pluggedIn("ec -pkeyopt ec_paramgen_curve:P-256")
  const stranger = createRoot({ trustDomain: "b", now: NOW })

  it.each<[string, Partial<AuthorityKeys>, string]>([
    ["a key of another certificate", { privateKey: stranger.privateKey }, "does not belong to the first certificate"],
    ["an invalid key", { privateKey: "key" }, "cannot be read"],
    ["an encrypted key", { privateKey: encrypted() }, "not encrypted"],
    ["another root", { root: stranger.root }, "does not lead to the root"],
    ["no root", { root: "" }, "the root cannot be used: holds no certificate"],
    ["an invalid chain", { certificateChain: "chain" }, "the certificate chain cannot be used"],
    ["a key among the certificates", { root: ROOT.root + ROOT.privateKey }, "block 2 is `PRIVATE KEY`"],
    ["a root that is not an authority", { root: leafOf() }, "certificate 1 is not a CA certificate"],
  ])("rejects %s", (_, change, message) => {
    expect(() => new CertificateAuthority({ ...issuing, ...change }, NOW)).toThrow(message)
  })

  it.each([
    ["is not an authority", "CA:FALSE", "digitalSignature", "is not a CA certificate"],
    ["may not sign", "CA:TRUE", "digitalSignature", "may not sign certificates"],
    ["has a NUL in a name", "CA:TRUE\nsubjectAltName=DER:3003820100", "keyCertSign", "well-formed extensions"],
  ])("rejects a certificate that %s", (_, constraints, usage, message) => {
    const keys = pluggedIn("ec -pkeyopt ec_paramgen_curve:P-256", constraints, usage)
    expect(() => new CertificateAuthority(keys, NOW)).toThrow(message)
  })

  it("rejects a workload's certificate, which has no subject either", () => {
    const { privateKey, publicKey } = holder()
    const { certificateChain } = new CertificateAuthority(ROOT, NOW).sign({
      publicKey,
      identity: IDENTITY,
      ttlMs: HOUR,
      now: NOW,
    })
    const keys = { certificateChain, privateKey, root: ROOT.root }
    expect(() => new CertificateAuthority(keys, NOW)).toThrow("`` is not a CA certificate (CA:TRUE)")
  })

  it("rejects a chain that exceeds a path length", () => {
    const conf = CONFIG("CA:TRUE")
    const run = openssl(
      { upper: issuing.certificateChain, upperkey: issuing.privateKey, conf },
      "req -new -newkey ed25519 -nodes -keyout key -subj /CN=lower -out csr",
      "x509 -req -in csr -CA upper -CAkey upperkey -days 30 -extfile conf -extensions v3 -set_serial 78 -out cert",
    )
    const certificateChain = run.written("cert").toString() + issuing.certificateChain
    const keys = { certificateChain, privateKey: run.written("key").toString(), root: ROOT.root }
    expect(() => new CertificateAuthority(keys, NOW)).toThrow("allows 0 CA certificates below it, and the chain has 1")
  })

  function encrypted(): string {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    return privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }).toString()
  }

  function leafOf(): string {
    const publicKey = createPublicKey(ROOT.privateKey).export({ type: "spki", format: "der" })
    return new CertificateAuthority(ROOT, NOW).sign({ publicKey, identity: IDENTITY, ttlMs: HOUR, now: NOW })
      .certificateChain
  }
})

describe("a certificate of a Pod", () => {
  const pod = { name: "httpbin-6f7", uid: "0f3c" }
  const authority = new CertificateAuthority(ROOT, NOW)
  const { publicKey } = holder()
  const { certificateChain } = authority.sign({ publicKey, identity: IDENTITY, pod, ttlMs: HOUR, now: NOW })

  it("contains its Pod next to the identity that peers see", () => {
    expect(certificateFacts(certificateChain)).toMatchObject({ pod, spiffeId: IDENTITY })
    expect(new X509Certificate(certificateChain).subjectAltName).toBe(`URI:${IDENTITY}`)
  })

  it("is valid for openssl, which parses the extension", () => {
    const { output } = openssl(
      { root: ROOT.root, leaf: certificateChain },
      "asn1parse -in leaf",
      "verify -x509_strict -CAfile root leaf",
    )
    expect(output).toContain("leaf: OK")
    const { output: text } = openssl({ leaf: certificateChain }, "x509 -in leaf -noout -text")
    expect(text).toMatch(/2\.25\.\d+: *\n/)
    expect(text).toContain("httpbin-6f7")
  })

  it("has no Pod without a proven Pod", () => {
    const plain = authority.sign({ publicKey, identity: IDENTITY, ttlMs: HOUR, now: NOW })
    expect(certificateFacts(plain.certificateChain).pod).toBeUndefined()
  })
})
