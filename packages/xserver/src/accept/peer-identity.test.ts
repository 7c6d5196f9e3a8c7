// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { parseSpiffeId } from "@merlon/policy/request"
import { expect, test } from "vitest"
import type { CertificateFacts } from "./peer-certificate.js"
import { identifyPeer, type PeerRules } from "./peer-identity.js"

const NOW = 1_000_000
const uri = "spiffe://cluster.local/ns/foo/sa/a"
const certificate: CertificateFacts = {
  identity: parseSpiffeId(uri),
  serial: "AB12",
  fingerprint: "f",
  subject: "",
  dns: [],
  notBefore: NOW - 1,
  notAfter: NOW + 1,
}
const rules = (revoked: { identities?: string[]; serials?: string[] } = {}): PeerRules => ({
  mesh: meshConfig({ trustDomainAliases: ["old.td"] }),
  revoked: { identities: new Set(revoked.identities ?? []), serials: new Set(revoked.serials ?? []) },
  by: "spiffe://cluster.local/ns/foo/sa/server",
  now: NOW,
})
const ofDomain = (domain: string) => ({ ...certificate, identity: parseSpiffeId(`spiffe://${domain}/ns/foo/sa/a`) })

test.each<[string, CertificateFacts | undefined, PeerRules, string]>([
  ["a good certificate", certificate, rules(), "ok"],
  ["an alias of the trust domain", ofDomain("old.td"), rules(), "ok"],
  ["no certificate", undefined, rules(), "no-certificate"],
  ["a certificate that has just expired", { ...certificate, notAfter: NOW }, rules(), "expired"],
  ["a certificate that becomes valid in a moment", { ...certificate, notBefore: NOW + 1 }, rules(), "not-yet-valid"],
  ["a certificate without identity", { ...certificate, identity: undefined }, rules(), "bad-identity"],
  ["a certificate of a foreign trust domain", ofDomain("evil.td"), rules(), "wrong-trust-domain"],
  ["a certificate whose identity is revoked", certificate, rules({ identities: [uri] }), "revoked"],
  ["a certificate whose serial number is revoked", certificate, rules({ serials: ["AB12"] }), "revoked"],
  ["a certificate similar to a revoked one", certificate, rules({ identities: [`${uri}b`], serials: ["AB1"] }), "ok"],
])("%s: %s", (_, facts, given, expected) => {
  const result = identifyPeer(facts, given)
  expect(result.ok ? "ok" : result.failure).toBe(expected)
})
