// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { CertificateAuthority, createRoot } from "@merlon/identity"
import { meshConfig } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { replicaIdentity } from "./replica-names.js"
import { verifyReplica } from "./verify-replica.js"

const NOW = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const identity = replicaIdentity(meshConfig({}))
const authority = new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now: NOW }), NOW)
const NO_REVOCATIONS = { revokedIdentities: [], revokedSerials: [] }

interface Made {
  readonly uri?: string | undefined
  readonly dnsNames?: readonly string[]
}

function made({ uri = identity.uri, dnsNames = [identity.dnsName] }: Made = {}): X509Certificate {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const key = publicKey.export({ type: "spki", format: "der" })
  const more = { publicKey: key, identity: uri, ttlMs: HOUR, now: NOW }
  const { certificateChain } = authority.signServer({ ...more, dnsNames, ipAddresses: ["127.0.0.1"] })
  return new X509Certificate(certificateChain)
}

it("accepts a control plane of this mesh by identity and DNS name", () => {
  expect(identity).toEqual({
    uri: "spiffe://cluster.local/ns/merlon-system/sa/merlond",
    dnsName: "merlond.merlon-system.svc",
  })
  expect(verifyReplica(made().raw, identity, NO_REVOCATIONS, NOW)).toBeUndefined()
})

describe("rejects a certificate", () => {
  it.each([
    [
      "of another trust domain",
      { uri: "spiffe://other/ns/merlon-system/sa/merlond" },
      "not the control plane of this mesh",
    ],
    [
      "of another account",
      { uri: "spiffe://cluster.local/ns/merlon-system/sa/web" },
      "not the control plane of this mesh",
    ],
    ["of another namespace", { uri: "spiffe://cluster.local/ns/foo/sa/merlond" }, "not the control plane of this mesh"],
    ["with another DNS name", { dnsNames: ["merlond.foo.svc"] }, "belongs to a workload"],
    ["without a DNS name, like that of a workload", { dnsNames: [] }, "belongs to a workload"],
  ] as const)("%s", (_, how, received) => {
    expect(verifyReplica(made(how).raw, identity, NO_REVOCATIONS, NOW)).toContain(received)
  })

  it("that is missing or unreadable", () => {
    expect(verifyReplica(undefined, identity, NO_REVOCATIONS, NOW)).toContain("no certificate")
    expect(verifyReplica(Buffer.from("x"), identity, NO_REVOCATIONS, NOW)).toContain("no certificate")
  })

  it("before and after its validity period", () => {
    const { raw } = made()
    expect(verifyReplica(raw, identity, NO_REVOCATIONS, NOW + HOUR)).toContain("not valid now")
    expect(verifyReplica(raw, identity, NO_REVOCATIONS, NOW - HOUR)).toContain("not valid now")
  })

  it("that is revoked, by identity or by serial in any notation", () => {
    const certificate = made()
    const { raw, serialNumber } = certificate
    const byIdentity = { ...NO_REVOCATIONS, revokedIdentities: [identity.uri] }
    const bySerial = { ...NO_REVOCATIONS, revokedSerials: [`0${serialNumber.toLowerCase()}`] }
    expect(verifyReplica(raw, identity, byIdentity, NOW)).toContain("revoked")
    expect(verifyReplica(raw, identity, bySerial, NOW)).toContain("revoked")
  })
})
