// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto"
import { meshConfig } from "@merlon/policy"
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { readCertificate } from "./peer-certificate.js"
import { identifyPeer } from "./peer-identity.js"
import { subjectAltNames } from "./subject-alt-names.js"
import { Authority, dnsName, extension, GOOD_ID, type LeafOptions, uriName } from "./testing/certificates.js"
import { der, sequence } from "./testing/der.js"

const authority = new Authority()
const rules = { mesh: meshConfig({ trustDomainAliases: ["old.domain"] }), by: "spiffe://cluster.local/ns/a/sa/b" }
const none = { identities: new Set<string>(), serials: new Set<string>() }

function identify(options: LeafOptions, revoked = none, now = Date.now()) {
  return identifyPeer(readCertificate(new X509Certificate(authority.issue(options).certificate)), {
    ...rules,
    revoked,
    now,
  })
}

function failureOf(options: LeafOptions) {
  const result = identify(options)
  return result.ok ? result.peer.uri : result.failure
}

it("reads what an honest authority writes, as Node does", () => {
  const { certificate } = authority.issue({ uris: [GOOD_ID], dns: ["a.example", "b.example"] })
  const parsed = new X509Certificate(certificate)
  expect(parsed.subjectAltName).toBe(`URI:${GOOD_ID}, DNS:a.example, DNS:b.example`)
  expect(subjectAltNames(parsed.raw)).toEqual({ uris: [GOOD_ID], dns: ["a.example", "b.example"] })
})

describe("takes for an identity", () => {
  test.each<[string, LeafOptions, string]>([
    ["exactly one SPIFFE URI", {}, GOOD_ID],
    [
      "one of an alias of the trust domain",
      { uris: ["spiffe://old.domain/ns/a/sa/b"] },
      "spiffe://old.domain/ns/a/sa/b",
    ],
    ["a URI beside host names", { dns: ["x.example"] }, GOOD_ID],
  ])("%s", (_, options, uri) => {
    expect(failureOf(options)).toBe(uri)
  })
})

describe("takes for no identity", () => {
  test.each<[string, LeafOptions, string]>([
    ["a certificate without names", { uris: [] }, "bad-identity"],
    ["two URIs", { uris: [GOOD_ID, "spiffe://cluster.local/ns/admin/sa/root"] }, "bad-identity"],
    ["the same URI twice", { uris: [GOOD_ID, GOOD_ID] }, "bad-identity"],
    ["a host name that prints like a URI", { uris: [], dns: [`x, URI:${GOOD_ID}`] }, "bad-identity"],
    ["a common name that prints like one", { uris: [], commonName: `x\nURI:${GOOD_ID}` }, "bad-identity"],
    [
      "a URI that prints like two names",
      { uris: [`${GOOD_ID}, URI:spiffe://cluster.local/ns/a/sa/b`] },
      "bad-identity",
    ],
    ["a URI in quotes", { uris: [`"${GOOD_ID}"`] }, "bad-identity"],
    ["a URI with a NUL behind it", { uris: [`${GOOD_ID}\0.evil.example`] }, "bad-identity"],
    ["a URI with a line break", { uris: [`${GOOD_ID}\n`] }, "bad-identity"],
    ["a URI with letters beyond ASCII", { uris: [`spiffe://cluster.local/ns/shop/sa/fr\xf6ntend`] }, "bad-identity"],
    ["a URI with an escape", { uris: ["spiffe://cluster.local/ns/shop/sa/front%65nd"] }, "bad-identity"],
    ["a URI with dots in the path", { uris: ["spiffe://cluster.local/ns/../sa/frontend"] }, "bad-identity"],
    ["a URI with a query", { uris: [`${GOOD_ID}?a`] }, "bad-identity"],
    ["another scheme", { uris: ["https://cluster.local/ns/shop/sa/frontend"] }, "bad-identity"],
    ["another trust domain", { uris: ["spiffe://evil.example/ns/shop/sa/frontend"] }, "wrong-trust-domain"],
    ["a trust domain that begins like ours", { uris: ["spiffe://cluster.local.evil/ns/a/sa/b"] }, "wrong-trust-domain"],
    [
      "names in two extensions",
      { extensions: [extension("2.5.29.17", false, sequence(uriName("spiffe://cluster.local/ns/admin/sa/root")))] },
      "bad-identity",
    ],
    [
      "names with a rest behind them",
      { subjectAltName: Buffer.concat([sequence(uriName(GOOD_ID)), der(5)]) },
      "bad-identity",
    ],
    [
      "names whose length is written too long",
      { subjectAltName: sequence(Buffer.concat([Buffer.from([0x86, 0x81, GOOD_ID.length]), Buffer.from(GOOD_ID)])) },
      "bad-identity",
    ],
    ["names cut short", { subjectAltName: sequence(dnsName("a"), uriName(GOOD_ID)).subarray(0, 20) }, "bad-identity"],
  ])("%s", (_, options, failure) => {
    expect(failureOf(options)).toBe(failure)
  })
})

it("looks at dates and revocations whatever the handshake said", () => {
  const hour = 3_600_000
  expect(identify({}, none, Date.now() + 2 * hour)).toEqual({ ok: false, failure: "expired" })
  expect(identify({}, none, Date.now() - 2 * hour)).toEqual({ ok: false, failure: "not-yet-valid" })
  expect(identify({}, { ...none, identities: new Set([GOOD_ID]) })).toEqual({ ok: false, failure: "revoked" })
  const issued = authority.issue()
  const certificate = readCertificate(new X509Certificate(issued.certificate))
  const revoked = { ...none, serials: new Set([issued.serial]) }
  expect(identifyPeer(certificate, { ...rules, revoked, now: Date.now() })).toEqual({ ok: false, failure: "revoked" })
  expect(identifyPeer(undefined, { ...rules, revoked, now: Date.now() })).toEqual({
    ok: false,
    failure: "no-certificate",
  })
})

it("never throws and never finds a name that is not there", () => {
  const good = new X509Certificate(authority.issue().certificate).raw
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
      const names = subjectAltNames(Buffer.from(bytes))
      expect(names?.uris ?? []).not.toContain(GOOD_ID)
    }),
  )
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const mutated = Buffer.from(good)
      mutated[at] = (mutated[at] ?? 0) ^ flip
      const names = subjectAltNames(mutated)
      for (const uri of names?.uris ?? []) expect(mutated.includes(uri, "latin1")).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
