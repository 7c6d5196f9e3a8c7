// SPDX-License-Identifier: Apache-2.0
// Which certificates give a peer an identity. The encoding of certificates is tested beside the parser, in `identity`.

import { X509Certificate } from "node:crypto"
import { meshConfig } from "@merlon/policy/mesh"
import { describe, expect, it, test } from "vitest"
import { readCertificate } from "./peer-certificate.js"
import { identifyPeer } from "./peer-identity.js"
import { Authority, extension, GOOD_ID, type LeafOptions, uriName } from "./testing/certificates.js"
import { sequence } from "./testing/der.js"

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

describe("accepts as an identity", () => {
  test.each<[string, LeafOptions, string]>([
    ["exactly one SPIFFE URI", {}, GOOD_ID],
    [
      "an identity of an alias of the trust domain",
      { uris: ["spiffe://old.domain/ns/a/sa/b"] },
      "spiffe://old.domain/ns/a/sa/b",
    ],
    ["a URI beside host names", { dns: ["x.example"] }, GOOD_ID],
  ])("%s", (_, options, uri) => {
    expect(failureOf(options)).toBe(uri)
  })
})

describe("rejects as an identity", () => {
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
  ])("%s", (_, options, failure) => {
    expect(failureOf(options)).toBe(failure)
  })
})

it("checks dates and revocations whatever the handshake reported", () => {
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
