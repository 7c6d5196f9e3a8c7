// SPDX-License-Identifier: Apache-2.0
import { certificateFacts, DEFAULT_TTL_LIMITS, makeSigningRequest, signerOf } from "@merlon/identity"
import type { Caller } from "@merlon/xds/server"
import { describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { SECRETS } from "../kubernetes/resource-type.js"
import { settle } from "../observe/testing/manual-clock.js"
import type { Authority } from "./authority.js"
import type { SignedWorkload } from "./sign-workload.js"
import { HOUR, NAMES, Stage } from "./testing/authority-stage.js"

const CALLER: Caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "httpbin", proof: "token" }
const IDENTITY = "spiffe://cluster.local/ns/foo/sa/httpbin"
const REQUEST = makeSigningRequest().request
/** What an operator may allow. */
const LONGER = { ...DEFAULT_TTL_LIMITS, maxMs: 90 * 24 * HOUR }

async function sign(authority: Authority, caller = CALLER, ttlSeconds = 0): Promise<SignedWorkload> {
  const result = await authority.sign(caller, REQUEST, ttlSeconds)
  if (!result.ok) throw new Error(result.message)
  return result.certificate
}

describe("signing for a workload", () => {
  it("certifies who the caller is by its proof", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    const { certificateChain, trustBundle, serial, notAfter } = await sign(authority)
    expect(certificateFacts(certificateChain)).toMatchObject({ spiffeId: IDENTITY, serial, notAfter })
    expect(notAfter - stage.clock.now()).toBe(24 * HOUR)
    expect(trustBundle).toBe(authority.current.bundle)
    expect(signerOf(certificateChain, trustBundle)).toBe(authority.current.signer)
  })

  it("certifies the Pod that the proof is bound to, also by a certificate that proves it", async () => {
    const authority = await new Stage().authority()
    const bound = { ...CALLER, pod: "httpbin-1", podUid: "u1" }
    for (const caller of [bound, { ...bound, proof: "certificate", serial: "4F" } as const]) {
      const { certificateChain } = await sign(authority, caller)
      expect(certificateFacts(certificateChain).pod).toEqual({ name: "httpbin-1", uid: "u1" })
    }
    expect(certificateFacts((await sign(authority)).certificateChain).pod).toBeUndefined()
  })

  it("gives the life that was asked for", async () => {
    const stage = new Stage()
    expect((await sign(await stage.authority(), CALLER, 3600)).notAfter - stage.clock.now()).toBe(HOUR)
  })

  const foreign = { outcome: "foreign", code: "PERMISSION_DENIED" }
  const revoked = { outcome: "revoked", code: "PERMISSION_DENIED" }
  const certificate = (serial?: string): Partial<Caller> => ({
    proof: "certificate",
    ...(serial === undefined ? {} : { serial }),
  })

  it.each<[string, Partial<Caller>, Uint8Array, number, object]>([
    ["of another trust domain", { trustDomain: "other.example" }, REQUEST, 0, foreign],
    ["whose name is no identity", { serviceAccount: "a/b" }, REQUEST, 0, foreign],
    ["without a name", { namespace: "" }, REQUEST, 0, foreign],
    ["whose identity is revoked", { serviceAccount: "gone" }, REQUEST, 0, revoked],
    ["whose certificate is revoked", certificate("4F0A"), REQUEST, 0, revoked],
    ["whose revoked serial is spelled otherwise", certificate("004f0a"), REQUEST, 0, revoked],
    ["whose certificate nobody can look up", certificate(), REQUEST, 0, revoked],
    ["who asks for too long a life", {}, REQUEST, 25 * 3600, { outcome: "bad-ttl", code: "INVALID_ARGUMENT" }],
    ["who asks for too short a life", {}, REQUEST, 1, { outcome: "bad-ttl", code: "INVALID_ARGUMENT" }],
    ["who sends no request", {}, Buffer.alloc(3), 0, { outcome: "bad-request", code: "INVALID_ARGUMENT" }],
  ])("rejects a caller %s", async (_, caller, request, ttl, rejection) => {
    const stage = new Stage()
    const identities = "cluster.local/ns/foo/sa/gone"
    stage.configMap(NAMES.revocationsConfigMap, { identities, serials: "4f:0a" })
    const authority = await stage.authority()
    expect(await authority.sign({ ...CALLER, ...caller }, request, ttl)).toMatchObject({ ok: false, ...rejection })
  })

  it("takes a good certificate, and a token of who lost one", async () => {
    const stage = new Stage()
    stage.configMap(NAMES.revocationsConfigMap, { serials: "4f0a" })
    const authority = await stage.authority()
    await sign(authority, { ...CALLER, proof: "certificate", serial: "4F0B" })
    await sign(authority, CALLER)
  })

  it("does not sign for who is revoked while it is at work", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ ttl: LONGER })
    stage.cluster.beforeWrite = async () => {
      stage.configMap(NAMES.revocationsConfigMap, { identities: IDENTITY })
      await settle()
    }
    expect(await authority.sign(CALLER, REQUEST, 48 * 3600)).toMatchObject({ ok: false, outcome: "revoked" })
  })

  it("hands out no longer life than rotation knows of", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ ttl: LONGER })
    stage.cluster.beforeWrite = () => {
      throw new ApiError(0, "api-unreachable", "secret words of the API")
    }
    const result = await authority.sign(CALLER, REQUEST, 48 * 3600)
    expect(result).toMatchObject({ ok: false, outcome: "unavailable", code: "UNAVAILABLE" })
    expect(JSON.stringify(result)).not.toContain("secret words")
    await sign(authority)
  })

  it("reports an expired root", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ rootLifetimeMs: HOUR })
    stage.clock.setWall(stage.clock.now() + 2 * HOUR)
    const result = await authority.sign(CALLER, REQUEST, 0)
    expect(result).toMatchObject({ outcome: "unavailable", message: expect.stringContaining("has expired") })
  })
})

describe("what can be told of the authority", () => {
  it("is when credentials end and what became of requests", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    authority.serve("xds", ["localhost", "127.0.0.1"])
    await sign(authority)
    await authority.sign(CALLER, Buffer.alloc(0), 0)
    const tenYears = stage.clock.now() + 10 * 365 * 24 * HOUR
    expect(authority.facts).toMatchObject({
      rootNotAfter: tenYears,
      signerNotAfter: tenYears,
      servingNotAfter: new Map([["xds", stage.clock.now() + 24 * HOUR]]),
      requests: { signed: 1, "bad-request": 1, "bad-ttl": 0, revoked: 0, foreign: 0, unavailable: 0 },
      phase: "steady",
      signer: authority.current.signer,
      rejectedChanges: 0,
    })
  })
})

describe("the control plane's own certificate", () => {
  it("is renewed at half its life, with another key", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    const serving = authority.serve("xds", ["merlond.merlon-system.svc", "::1"], IDENTITY)
    const { privateKey } = serving.current
    let told = 0
    serving.onChange(() => told++)
    await stage.clock.advance(12 * HOUR - 1)
    expect(told).toBe(0)
    await stage.clock.advance(1)
    expect(told).toBe(1)
    expect(serving.current.privateKey).not.toBe(privateKey)
    expect(serving.current.notAfter).toBe(stage.clock.now() + 24 * HOUR)
    expect(certificateFacts(serving.current.certificateChain).spiffeId).toBe(IDENTITY)
    serving.close()
    await stage.clock.advance(48 * HOUR)
    expect(told).toBe(1)
  })

  it("is tried again where it cannot be renewed", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ rootLifetimeMs: 20 * HOUR })
    const serving = authority.serve("xds", ["localhost"])
    const before = serving.current
    stage.clock.setWall(stage.clock.now() + 21 * HOUR)
    await stage.clock.advance(HOUR)
    expect(serving.current).toBe(before)
    const tries = stage.log.lines.filter(line => line.includes("cannot be renewed")).length
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThan(360)
    stage.clock.setWall(before.notAfter - HOUR)
    await stage.clock.advance(10_000)
    expect(serving.current).not.toBe(before)
  })
})

describe("an authority that is closed", () => {
  it("leaves no timer and hears nothing more", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    authority.serve("xds", ["localhost"])
    authority.rotateWith(stage.ledger)
    let told = 0
    authority.onChange(() => told++)
    await settle()
    authority.close()
    stage.configMap(NAMES.revocationsConfigMap, { identities: IDENTITY })
    await stage.cluster.delete(SECRETS, NAMES.rootSecret, NAMES.namespace)
    await settle()
    expect([told, stage.clock.pending]).toEqual([0, 0])
  })
})

describe("what sessions are granted under", () => {
  const keysOf = ({ sessions: { secret, granted } }: Authority): string => `${secret.toString("hex")} ${granted}`

  it("is the same for every replica and after a restart, and other for another mesh", async () => {
    const stage = new Stage()
    const [one, other] = [await stage.authority(), await stage.authority()]
    expect(keysOf(other)).toBe(keysOf(one))
    const stranger = await new Stage().authority()
    expect(stranger.sessions.secret.equals(one.sessions.secret)).toBe(false)
    expect(one.sessions.secret).toHaveLength(32)
  })

  it("changes at once with revocations", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    const before = keysOf(authority)
    stage.configMap(NAMES.revocationsConfigMap, { serials: "4f0a" })
    await settle()
    expect(keysOf(authority)).not.toBe(before)
  })
})
