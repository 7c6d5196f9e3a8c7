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
/** The longest limit that an operator may set. */
const LONGER = { ...DEFAULT_TTL_LIMITS, maxMs: 90 * 24 * HOUR }

async function sign(authority: Authority, caller = CALLER, ttlSeconds = 0): Promise<SignedWorkload> {
  const result = await authority.sign(caller, REQUEST, ttlSeconds)
  if (!result.ok) throw new Error(result.message)
  return result.certificate
}

describe("signing for a workload", () => {
  it("certifies the identity that the caller has proved", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    const { certificateChain, trustBundle, serial, notAfter } = await sign(authority)
    expect(certificateFacts(certificateChain)).toMatchObject({ spiffeId: IDENTITY, serial, notAfter })
    expect(notAfter - stage.clock.now()).toBe(24 * HOUR)
    expect(trustBundle).toBe(authority.current.bundle)
    expect(signerOf(certificateChain, trustBundle)).toBe(authority.current.signer)
  })

  it("certifies the Pod of the caller's token or certificate", async () => {
    const authority = await new Stage().authority()
    const bound = { ...CALLER, pod: "httpbin-1", podUid: "u1" }
    for (const caller of [bound, { ...bound, proof: "certificate", serial: "4F" } as const]) {
      const { certificateChain } = await sign(authority, caller)
      expect(certificateFacts(certificateChain).pod).toEqual({ name: "httpbin-1", uid: "u1" })
    }
    expect(certificateFacts((await sign(authority)).certificateChain).pod).toBeUndefined()
  })

  it("uses the requested lifetime", async () => {
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
    ["whose name is not a valid identity", { serviceAccount: "a/b" }, REQUEST, 0, foreign],
    ["without a name", { namespace: "" }, REQUEST, 0, foreign],
    ["whose identity is revoked", { serviceAccount: "gone" }, REQUEST, 0, revoked],
    ["whose certificate is revoked", certificate("4F0A"), REQUEST, 0, revoked],
    ["whose revoked serial is spelled differently", certificate("004f0a"), REQUEST, 0, revoked],
    ["whose certificate has no known serial", certificate(), REQUEST, 0, revoked],
    ["who requests too long a lifetime", {}, REQUEST, 25 * 3600, { outcome: "bad-ttl", code: "INVALID_ARGUMENT" }],
    ["who requests too short a lifetime", {}, REQUEST, 1, { outcome: "bad-ttl", code: "INVALID_ARGUMENT" }],
    ["without a valid signing request", {}, Buffer.alloc(3), 0, { outcome: "bad-request", code: "INVALID_ARGUMENT" }],
  ])("rejects a caller %s", async (_, caller, request, ttl, rejection) => {
    const stage = new Stage()
    const identities = "cluster.local/ns/foo/sa/gone"
    stage.configMap(NAMES.revocationsConfigMap, { identities, serials: "4f:0a" })
    const authority = await stage.authority()
    expect(await authority.sign({ ...CALLER, ...caller }, request, ttl)).toMatchObject({ ok: false, ...rejection })
  })

  it("accepts a valid certificate, and a token of a caller that lost its certificate", async () => {
    const stage = new Stage()
    stage.configMap(NAMES.revocationsConfigMap, { serials: "4f0a" })
    const authority = await stage.authority()
    await sign(authority, { ...CALLER, proof: "certificate", serial: "4F0B" })
    await sign(authority, CALLER)
  })

  it("does not sign for a caller that is revoked in the meantime", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ ttl: LONGER })
    stage.cluster.beforeWrite = async () => {
      stage.configMap(NAMES.revocationsConfigMap, { identities: IDENTITY })
      await settle()
    }
    expect(await authority.sign(CALLER, REQUEST, 48 * 3600)).toMatchObject({ ok: false, outcome: "revoked" })
  })

  it("issues no longer lifetime than rotation has stored", async () => {
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

describe("facts about the authority", () => {
  it("include expiry times and the outcomes of requests", async () => {
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
  it("is renewed at half its lifetime, with another key", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    const serving = authority.serve("xds", ["merlond.merlon-system.svc", "::1"], IDENTITY)
    const { privateKey } = serving.current
    let received = 0
    serving.onChange(() => received++)
    await stage.clock.advance(12 * HOUR - 1)
    expect(received).toBe(0)
    await stage.clock.advance(1)
    expect(received).toBe(1)
    expect(serving.current.privateKey).not.toBe(privateKey)
    expect(serving.current.notAfter).toBe(stage.clock.now() + 24 * HOUR)
    expect(certificateFacts(serving.current.certificateChain).spiffeId).toBe(IDENTITY)
    serving.close()
    await stage.clock.advance(48 * HOUR)
    expect(received).toBe(1)
  })

  it("is retried if it cannot be renewed", async () => {
    const stage = new Stage()
    const authority = await stage.authority({ rootLifetimeMs: 20 * HOUR })
    const serving = authority.serve("xds", ["localhost"])
    const before = serving.current
    stage.clock.setWall(stage.clock.now() + 21 * HOUR)
    await stage.clock.advance(HOUR)
    expect(serving.current).toBe(before)
    const tries = stage.log.lines.filter(line => line.includes("cannot renew")).length
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThan(360)
    stage.clock.setWall(before.notAfter - HOUR)
    await stage.clock.advance(10_000)
    expect(serving.current).not.toBe(before)
  })
})

describe("a closed authority", () => {
  it("leaves no timers or listeners", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    authority.serve("xds", ["localhost"])
    authority.rotateWith(stage.ledger)
    let received = 0
    authority.onChange(() => received++)
    await settle()
    authority.close()
    stage.configMap(NAMES.revocationsConfigMap, { identities: IDENTITY })
    await stage.cluster.delete(SECRETS, NAMES.rootSecret, NAMES.namespace)
    await settle()
    expect([received, stage.clock.pending]).toEqual([0, 0])
  })
})

describe("the session grant", () => {
  const keysOf = ({ sessions: { secret, granted } }: Authority): string => `${secret.toString("hex")} ${granted}`

  it("is the same for every replica and after a restart, and differs between meshes", async () => {
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
