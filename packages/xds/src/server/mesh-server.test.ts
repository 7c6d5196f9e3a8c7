// SPDX-License-Identifier: Apache-2.0
import { create } from "@bufbuild/protobuf"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { ReportRequestSchema, SignCertificateRequestSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { RawClient, type RawOptions } from "../testing/raw-client.js"
import { type ServerRig, type ServerRigOptions, serverRig } from "../testing/server-rig.js"
import { TestAuthority } from "../testing/test-authority.js"
import { report, signCertificate } from "../wire/methods.js"

const TYPE = "type.googleapis.com/test.Thing"
const NODE = { id: "shop/orders-1" }
const clients: RawClient[] = []
const rigs: ServerRig[] = []
let rig: ServerRig

async function start(options: ServerRigOptions = {}): Promise<ServerRig> {
  const started = await serverRig(options)
  rigs.push(started)
  return started
}

function connect(options: Partial<RawOptions> = {}, to: ServerRig = rig): RawClient {
  const client = new RawClient({ address: to.address, bundle: to.authority.bundle, ...options })
  clients.push(client)
  return client
}

/** An open delta stream that has received its first response. */
async function subscribed(options: Partial<RawOptions> = { token: "good:orders-1" }, to: ServerRig = rig) {
  const stream = connect(options, to).delta()
  stream.send({ node: NODE, typeUrl: TYPE, resourceNamesSubscribe: ["*"] })
  const first = await stream.response(0)
  return { stream, first }
}

beforeEach(async () => {
  rig = await start()
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.client.close()
  await Promise.all(rigs.splice(0).map(({ server }) => server.close()))
})

describe("a caller", () => {
  it("is identified by its token", async () => {
    await subscribed()
    expect(rig.source.opened).toMatchObject([
      { caller: { proof: "token", pod: "orders-1" }, node: { id: "shop/orders-1", peerAddress: "127.0.0.1" } },
    ])
  })

  it("is identified by its certificate", async () => {
    const credentials = rig.authority.workload()
    await subscribed({ credentials })
    expect(rig.source.opened).toMatchObject([
      { caller: { proof: "certificate", namespace: "shop", serviceAccount: "orders", serial: credentials.serial } },
    ])
  })

  test.each<[string, (rig: ServerRig) => Partial<RawOptions>]>([
    [
      "an expired certificate",
      each => ({ credentials: each.authority.workload(undefined, Date.now() - 2 * 3_600_000) }),
    ],
    ["a certificate from another authority", () => ({ credentials: new TestAuthority().workload() })],
    ["a server's certificate", each => ({ credentials: each.authority.server() })],
    ["another trust domain", each => ({ credentials: each.authority.workload("spiffe://evil/ns/shop/sa/orders") })],
    ["no credentials", () => ({})],
  ])("with %s is rejected, and admitted with a valid token", async (_, options) => {
    const bad = connect(options(rig)).delta()
    bad.send({ node: NODE, typeUrl: TYPE })
    expect(await bad.ended()).toMatch(/^UNAUTHENTICATED: .*(send a service-account token|expired)/)
    await subscribed({ ...options(rig), token: "good:orders-1" })
    expect(rig.source.opened).toMatchObject([{ caller: { proof: "token" } }])
  })

  it("is identified by the certificate of an existing Pod, without a token review", async () => {
    rig.state.tokens = "away"
    const credentials = rig.authority.workload(undefined, undefined, { name: "orders-1", uid: "u1" })
    await subscribed({ token: "good:orders-1", credentials })
    expect(rig.source.opened).toMatchObject([{ caller: { proof: "certificate", pod: "orders-1", podUid: "u1" } }])
  })

  it.each<[string, (state: ServerRig["state"], serial: string) => unknown]>([
    ["that was deleted", state => state.gone.add("u1")],
    ["that was revoked", (state, serial) => state.revoked.add(serial)],
  ])("with the certificate of a Pod %s is identified by its token", async (_, happen) => {
    rig = await start({ limits: { recheckMs: 20 } })
    const credentials = rig.authority.workload(undefined, undefined, { name: "orders-1", uid: "u1" })
    happen(rig.state, credentials.serial)
    await subscribed({ token: "good:orders-1", credentials })
    expect(rig.source.opened).toMatchObject([{ caller: { proof: "token" } }])
    const bad = connect({ token: "bad", credentials }).delta()
    bad.send({ node: NODE, typeUrl: TYPE })
    expect(await bad.ended()).toMatch(/^(UNAUTHENTICATED|PERMISSION_DENIED): /)
  })

  it("with an invalid token and a valid certificate is identified by the certificate", async () => {
    await subscribed({ token: "bad", credentials: rig.authority.workload() })
    expect(rig.source.opened).toMatchObject([{ caller: { proof: "certificate" } }])
  })

  test.each<[string, string, RegExp]>([
    ["that is invalid", "bad", /^UNAUTHENTICATED: the service-account token is not valid/],
    ["that is too long", `good:${"x".repeat(20_000)}`, /^UNAUTHENTICATED: the token is too long/],
  ])("with a token %s is rejected", async (_, token, expected) => {
    const stream = connect({ token }).delta()
    stream.send({ node: NODE, typeUrl: TYPE })
    expect(await stream.ended()).toMatch(expected)
    expect(rig.source.opened).toEqual([])
  })

  it("stays until its token expires, and reconnects with another", async () => {
    rig.state.tokensEnd = Date.now() + 300
    const stream = connect({ token: "good:orders-1" }).delta()
    stream.send({ node: NODE, typeUrl: TYPE, resourceNamesSubscribe: ["*"] })
    expect(await stream.ended()).toMatch(/^UNAUTHENTICATED: the token has expired/)
    rig.state.tokensEnd = Date.now() + 3_600_000
    await subscribed()
  })

  it("is rejected while tokens cannot be verified", async () => {
    rig.state.tokens = "away"
    const stream = connect({ token: "good:orders-1" }).delta()
    stream.send({ node: NODE, typeUrl: TYPE })
    expect(await stream.ended()).toMatch(/^UNAVAILABLE: the token could not be verified/)
  })

  it("is rejected after a time limit if its token is never verified", async () => {
    const impatient = await start({ limits: { proofMs: 20, pendingProofs: 1 } })
    impatient.state.tokens = "hanging"
    for (const attempt of [1, 2]) {
      const stream = connect({ token: `good:${attempt}` }, impatient).delta()
      stream.send({ node: NODE, typeUrl: TYPE })
      expect(await stream.ended()).toMatch(/^UNAVAILABLE: the token could not be verified/)
    }
  })

  it("is rejected if the source says so", async () => {
    rig.source.rejection = { code: "PERMISSION_DENIED", message: "not your pod" }
    const stream = connect({ token: "good:orders-1" }).delta()
    stream.send({ node: NODE, typeUrl: TYPE })
    expect(await stream.ended()).toBe("PERMISSION_DENIED: not your pod")
  })
})

describe("a delta stream", () => {
  it("carries resources, changes and their revision", async () => {
    rig.source.set(TYPE, "a", "1")
    const { stream, first } = await subscribed()
    expect(first).toMatchObject({ typeUrl: TYPE, systemVersionInfo: String(rig.source.revision) })
    expect(first.resources).toMatchObject([{ name: "a", version: "1", resource: { typeUrl: TYPE } }])
    expect(Buffer.from(first.resources[0]?.resource?.value ?? []).toString()).toBe("a@1")
    stream.send({ typeUrl: TYPE, responseNonce: first.nonce })
    rig.source.set(TYPE, "a", undefined)
    rig.source.set(TYPE, "b", "1")
    const second = await stream.response(1)
    expect(second.removedResources).toEqual(["a"])
    expect(second.resources.map(({ name }) => name)).toEqual(["b"])
  })

  it("coalesces a burst for a client that is slow to acknowledge", async () => {
    const { stream, first } = await subscribed()
    for (let version = 1; version <= 500; version += 1) rig.source.set(TYPE, "a", String(version))
    stream.send({ typeUrl: TYPE, responseNonce: first.nonce })
    const second = await stream.response(1)
    expect(second.resources.map(({ version }) => version)).toEqual(["500"])
    expect(stream.responses).toHaveLength(2)
  })

  it("sends the newest state to a client that does not acknowledge, and reports that", async () => {
    const overdue: string[] = []
    const impatient = await start({
      limits: { ackDeadlineMs: 20 },
      observe: { overdue: (_, nodeId) => void overdue.push(nodeId) },
    })
    const { stream } = await subscribed(undefined, impatient)
    impatient.source.set(TYPE, "a", "1")
    expect((await stream.response(1)).resources.map(({ name }) => name)).toEqual(["a"])
    expect(overdue).toContain("shop/orders-1")
  })

  it("ends the subscription when the client disconnects", async () => {
    const { stream } = await subscribed()
    stream.call.cancel()
    await expect.poll(() => rig.source.closed).toBe(1)
  })

  it("ends normally when the client ends it", async () => {
    const { stream } = await subscribed()
    stream.call.end()
    expect(await stream.ended()).toBe("OK")
    await expect.poll(() => rig.source.closed).toBe(1)
  })
})

it("supports the state-of-the-world variant", async () => {
  rig.source.set(TYPE, "a", "1")
  const stream = connect({ credentials: rig.authority.workload() }).sotw()
  stream.send({ node: NODE, typeUrl: TYPE, resourceNames: ["a"] })
  const first = await stream.response(0)
  expect(first).toMatchObject({ typeUrl: TYPE, versionInfo: String(rig.source.revision) })
  expect(first.resources.map(({ value }) => Buffer.from(value).toString())).toEqual(["a@1"])
  stream.send({ typeUrl: TYPE, resourceNames: ["a"], versionInfo: first.versionInfo, responseNonce: first.nonce })
  rig.source.set(TYPE, "a", "2")
  await stream.response(1)
  expect(rig.source.acknowledgements).toMatchObject([{ kind: "acknowledged", typeUrl: TYPE }])
})

describe("calls", () => {
  const signing = (nodeId = "shop/orders-1", bytes = 3) =>
    create(SignCertificateRequestSchema, { signingRequest: new Uint8Array(bytes), ttlSeconds: 60, nodeId })

  it("sign for an authenticated caller", async () => {
    const answer = await connect({ token: "good:orders-1" }).unary(signCertificate, signing())
    expect(answer).toMatchObject({ certificateChain: "chain 3 60", trustBundle: rig.authority.bundle })
  })

  test.each<[string, Partial<RawOptions>, ReturnType<typeof signing>, RegExp]>([
    ["nobody", {}, signing(), /^UNAUTHENTICATED: send a service-account token/],
    ["a request of another Pod", { token: "good:x" }, signing("other/pod"), /^PERMISSION_DENIED: not your pod/],
    ["nothing", { token: "good:x" }, signing(undefined, 0), /^INVALID_ARGUMENT: `signing_request` is missing/],
    ["a request that is too large", { token: "good:x" }, signing(undefined, 20_000), /^INVALID_ARGUMENT: .*too large/],
  ])("do not sign for %s", async (_, options, request, expected) => {
    await expect(connect(options).unary(signCertificate, request)).rejects.toThrow(expected)
  })

  it("do not reveal internal errors", async () => {
    const failing = connect({ token: "good:x" }).unary(signCertificate, signing(undefined, 1))
    await expect(failing).rejects.toThrow(/^INTERNAL: the control plane failed on this call/)
    expect(rig.logged).toContainEqual({
      fields: expect.objectContaining({ error: "secret detail" }),
      message: "a call failed",
    })
  })

  it("report keys for an authenticated caller", async () => {
    const client = connect({ credentials: rig.authority.workload() })
    await client.unary(report, create(ReportRequestSchema, { nodeId: "shop/orders-1", unknownKeys: ["k"] }))
    expect(rig.reports).toMatchObject([[{ serviceAccount: "orders" }, "shop/orders-1", ["k"]]])
    const many = create(ReportRequestSchema, { unknownKeys: Array.from({ length: 2_000 }, () => "k") })
    await expect(client.unary(report, many)).rejects.toThrow(/^INVALID_ARGUMENT/)
  })
})

describe("new credentials", () => {
  it("are used for new connections while old ones continue", async () => {
    const { stream, first } = await subscribed()
    const next = new TestAuthority()
    rig.state.credentials = next.server()
    rig.server.credentialsChanged()
    await subscribed({ bundle: next.bundle, token: "good:orders-2" })
    const late = connect({ token: "good:orders-1" }).delta()
    late.send({ node: NODE, typeUrl: TYPE })
    expect(await late.ended()).toMatch(/^UNAVAILABLE/)
    stream.send({ typeUrl: TYPE, responseNonce: first.nonce })
    rig.source.set(TYPE, "a", "1")
    expect((await stream.response(1)).resources).toHaveLength(1)
  })

  it("decide which client certificates count from then on", async () => {
    const next = new TestAuthority()
    rig.state.clientTrustBundle = next.bundle
    rig.server.credentialsChanged()
    await subscribed({ credentials: next.workload() })
    const old = connect({ credentials: rig.authority.workload() }).delta()
    old.send({ node: NODE, typeUrl: TYPE })
    expect(await old.ended()).toMatch(/^UNAUTHENTICATED/)
  })

  it("that trust no root accept no certificate", async () => {
    rig.state.clientTrustBundle = ""
    rig.server.credentialsChanged()
    const stream = connect({ credentials: rig.authority.workload() }).delta()
    stream.send({ node: NODE, typeUrl: TYPE })
    expect(await stream.ended()).toMatch(/^UNAUTHENTICATED/)
  })

  it("that are invalid leave the old ones in use", async () => {
    rig.state.credentials = { chain: "nonsense", privateKey: "nonsense", serial: "" }
    rig.server.credentialsChanged()
    await subscribed()
    expect(rig.logged.map(({ message }) => message)).toContain(
      "the new serving certificate was rejected; the old one stays in use",
    )
  })
})

it("signs nothing on an old connection whose root is no longer trusted", async () => {
  const client = connect({ credentials: rig.authority.workload() })
  const request = create(SignCertificateRequestSchema, { signingRequest: new Uint8Array(3), nodeId: "shop/orders-1" })
  expect((await client.unary(signCertificate, request)).certificateChain).toBe("chain 3 0")
  rig.state.clientTrustBundle = new TestAuthority().bundle
  rig.server.credentialsChanged()
  await expect(client.unary(signCertificate, request)).rejects.toThrow(/^UNAUTHENTICATED: .*no longer trusted/)
})

it("periodically checks connected callers again", async () => {
  const own = await start({ limits: { recheckMs: 20 } })
  const { stream } = await subscribed({ credentials: own.authority.workload() }, own)
  own.state.now = Date.now() + 2 * 3_600_000
  expect(await stream.ended()).toMatch(/^UNAUTHENTICATED: the certificate has expired/)
})

describe("a recheck ends the streams of", () => {
  test.each<[string, (rig: ServerRig, serial: string) => void, RegExp]>([
    ["a revoked certificate", ({ state }, serial) => void state.revoked.add(serial), /^PERMISSION_DENIED: .*revoked/],
    [
      "an expired certificate",
      ({ state }) => {
        state.now = Date.now() + 2 * 3_600_000
      },
      /^UNAUTHENTICATED: the certificate has expired/,
    ],
    [
      "a certificate of a root that is no longer trusted",
      ({ state }) => {
        state.clientTrustBundle = new TestAuthority().bundle
      },
      /^UNAUTHENTICATED: .*no longer trusted/,
    ],
  ])("%s, and no others", async (_, change, expected) => {
    const credentials = rig.authority.workload()
    const { stream } = await subscribed({ credentials })
    const { stream: other } = await subscribed({ token: "good:orders-1" })
    rig.server.recheck()
    expect(stream.end).toBeUndefined()
    change(rig, credentials.serial)
    rig.server.recheck()
    expect(await stream.ended()).toMatch(expected)
    expect(other.end).toBeUndefined()
  })

  it("the callers that its function rejects", async () => {
    const { stream } = await subscribed({ token: "good:orders-1" })
    rig.server.recheck(({ pod }) =>
      pod === "orders-1" ? { code: "PERMISSION_DENIED", message: "the pod is gone" } : undefined,
    )
    expect(await stream.ended()).toBe("PERMISSION_DENIED: the pod is gone")
  })
})

describe("a drain", () => {
  it("asks all clients to reconnect elsewhere, and ends when they have left", async () => {
    const { stream } = await subscribed()
    const drained = rig.server.drain()
    expect(await stream.ended()).toMatch(/^UNAVAILABLE: the control plane is shutting down/)
    clients.splice(0).map(({ client }) => client.close())
    await drained
    const late = connect({ token: "good:orders-1" }).delta()
    late.send({ node: NODE, typeUrl: TYPE })
    expect(await late.ended()).toMatch(/^UNAVAILABLE/)
    expect(rig.source.closed).toBe(1)
  })
})
