// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server, type Socket } from "node:net"
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest"
import { type ServerRig, type ServerRigOptions, serverRig } from "../testing/server-rig.js"
import { SERVER_NAME, TestAuthority } from "../testing/test-authority.js"
import { MeshClient } from "./mesh-client.js"
import type { Proof, Update } from "./options.js"
import { type ClientRig, type ClientRigOptions, clientRig, TYPE } from "./testing/client-rig.js"

const closing: (() => unknown)[] = []
let sent: (readonly [resources: number, removed: number])[] = []
let rig: ServerRig

async function serve(options: ServerRigOptions = {}): Promise<ServerRig> {
  const started = await serverRig({
    observe: { sent: (_, { resources, removed }) => void sent.push([resources, removed]) },
    ...options,
  })
  closing.push(() => started.server.close())
  return started
}

function client(options: Partial<ClientRigOptions> = {}): ClientRig {
  const each = clientRig({ address: rig.address, bundle: rig.authority.bundle, ...options })
  closing.unshift(() => each.client.close())
  each.client.start()
  return each
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 90_000, interval: 5 })
const connected = (each: ClientRig) => until(() => expect(each.client.connected).toBe(true))

beforeEach(async () => {
  sent = []
  rig = await serve()
})

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe("a client", () => {
  test.each<[string, (rig: ServerRig) => Proof, string]>([
    ["its token", () => ({ token: "good:orders-1\n" }), "token"],
    [
      "its certificate",
      each => {
        const { chain, privateKey } = each.authority.workload()
        return { certificate: { chain, privateKey } }
      },
      "certificate",
    ],
    [
      "its token if the certificate is invalid",
      () => ({ token: "good:orders-1", certificate: { chain: "x", privateKey: "y" } }),
      "token",
    ],
  ])("is admitted by %s and receives updates", async (_, proof, expected) => {
    rig.source.set(TYPE, "a", "1")
    const each = client({ proof: proof(rig) })
    await until(() => expect(each.held).toEqual(new Map([["a", "1"]])))
    expect(each.connections).toEqual([[true, undefined]])
    expect(rig.source.opened).toMatchObject([
      { caller: { proof: expected }, node: { id: "shop/orders-1", metadata: { version: "test", held: 0 } } },
    ])
    rig.source.set(TYPE, "b", "1")
    rig.source.set(TYPE, "a", undefined)
    await until(() => expect(each.held).toEqual(new Map([["b", "1"]])))
    expect(each.updates.at(-1)?.revision).toBe(rig.source.revision)
  })

  it("acknowledges an update only when it is in effect", async () => {
    const each = client()
    await until(() => expect(rig.source.acknowledgements).toHaveLength(1))
    let open = () => {}
    each.state.gate = new Promise(resolve => {
      open = resolve
    })
    rig.source.set(TYPE, "a", "1")
    await until(() => expect(each.updates).toHaveLength(2))
    expect(rig.source.acknowledgements).toHaveLength(1)
    open()
    await until(() => expect(rig.source.acknowledgements.at(-1)).toMatchObject({ revision: rig.source.revision }))
    expect(each.held).toEqual(new Map([["a", "1"]]))
  })

  it("reports why it rejects an update, and keeps the previous one", async () => {
    rig.source.set(TYPE, "a", "1")
    const each = client()
    await until(() => expect(rig.source.acknowledgements).toHaveLength(1))
    each.state.reject = "policy `a` does not compile"
    rig.source.set(TYPE, "a", "bad")
    await until(() =>
      expect(rig.source.acknowledgements.at(-1)).toMatchObject({
        kind: "rejected",
        message: "policy `a` does not compile",
      }),
    )
    expect(each.held).toEqual(new Map([["a", "1"]]))
    expect(each.client.connected).toBe(true)
    each.state.reject = undefined
    rig.source.set(TYPE, "a", "2")
    await until(() => expect(each.held).toEqual(new Map([["a", "2"]])))
  })

  it("subscribes to other names when they change, and opens no stream while it has none", async () => {
    for (const name of ["a", "b", "c"]) rig.source.set(TYPE, name, "1")
    const each = client({ names: [] })
    each.client.resubscribe(TYPE)
    each.state.names = ["a", "ghost"]
    each.client.resubscribe(TYPE)
    await until(() => expect(each.held).toEqual(new Map([["a", "1"]])))
    expect(rig.source.opened).toHaveLength(1)
    expect(sent).toEqual([[1, 1]])
    expect(each.updates[0]?.removed).toEqual(["ghost"])
    each.state.names = ["b"]
    each.client.resubscribe(TYPE)
    await until(() => expect(each.held.has("b")).toBe(true))
    expect(each.held.has("c")).toBe(false)
  })
})

it("carries several types on one stream, each acknowledged separately", async () => {
  const other = "type.googleapis.com/test.Other"
  rig.source.set(TYPE, "a", "1")
  rig.source.set(other, "x", "1")
  const seen: string[] = []
  const subscription = (typeUrl: string, names: "*" | readonly string[]) => ({
    typeUrl,
    names: () => names,
    known: () => new Map<string, string>(),
    async apply({ resources }: Update) {
      seen.push(...resources.map(({ name }) => name))
      if (typeUrl === TYPE) throw new Error("no")
    },
  })
  const both = new MeshClient({
    address: rig.address,
    serverName: SERVER_NAME,
    trustBundle: () => rig.authority.bundle,
    proof: () => ({ token: "good:orders-1" }),
    node: { id: "shop/orders-1", metadata: () => ({}) },
    subscriptions: [subscription(TYPE, "*"), subscription(other, ["x"])],
  })
  closing.unshift(() => both.close())
  both.start()
  await until(() => expect(rig.source.acknowledgements).toHaveLength(2))
  expect(new Set(rig.source.acknowledgements.map(({ kind, typeUrl }) => `${kind} ${typeUrl}`))).toEqual(
    new Set([`rejected ${TYPE}`, `acknowledged ${other}`]),
  )
  expect(new Set(seen)).toEqual(new Set(["a", "x"]))
  expect(rig.source.opened).toHaveLength(1)
})

describe("a client that loses the control plane", () => {
  it("reconnects with its state, which is not sent again", async () => {
    rig.source.set(TYPE, "a", "1")
    rig.source.set(TYPE, "b", "1")
    rig.source.set(TYPE, "old", "1")
    const each = client()
    await until(() => expect(rig.source.acknowledgements).toHaveLength(1))
    const { port } = rig.server
    await rig.server.close()
    await until(() => expect(each.client.connected).toBe(false))
    expect(sent).toEqual([[3, 0]])
    rig.source.set(TYPE, "b", "2")
    rig.source.set(TYPE, "old", undefined)
    const { source, authority } = rig
    await serve({ port, source, authority })
    await until(() => expect(each.held).toEqual(new Map(Object.entries({ a: "1", b: "2" }))))
    expect(sent).toEqual([
      [3, 0],
      [1, 1],
    ])
    expect(each.connections.map(([up]) => up)).toEqual([true, false, true])
  })

  it("reconnects after GOAWAY", async () => {
    const each = client()
    await connected(each)
    const { port } = rig.server
    const { source, authority } = rig
    await rig.server.drain()
    await until(() => expect(each.connections.at(-1)?.[1]).toMatch(/UNAVAILABLE: the control plane is shutting down/))
    await serve({ port, source, authority })
    await connected(each)
  })

  it("finishes applying an update before it reports what it holds", async () => {
    const each = client()
    await until(() => expect(rig.source.acknowledgements).toHaveLength(1))
    let open = () => {}
    each.state.gate = new Promise(resolve => {
      open = resolve
    })
    rig.source.set(TYPE, "a", "1")
    await until(() => expect(each.updates).toHaveLength(2))
    const { port } = rig.server
    await rig.server.close()
    await until(() => expect(each.client.connected).toBe(false))
    const { source, authority } = rig
    await serve({ port, source, authority })
    open()
    await connected(each)
    expect(sent).toEqual([
      [0, 0],
      [1, 0],
      [0, 0],
    ])
  })

  it("uses the current trust bundle and credentials for the new connection", async () => {
    const each = client()
    await connected(each)
    const { port } = rig.server
    await rig.server.close()
    const authority = new TestAuthority()
    const next = await serve({ port, authority })
    each.state.bundle = authority.bundle
    each.state.proof = { token: "good:orders-2" }
    await until(() => expect(next.source.opened).toMatchObject([{ caller: { pod: "orders-2" } }]))
  })
})

describe("a client that cannot connect", () => {
  it("reports why it is rejected, and is admitted once its credentials are valid", async () => {
    const each = client({ proof: { token: "bad" } })
    await until(() =>
      expect(each.logged).toContainEqual({
        fields: expect.objectContaining({ why: expect.stringMatching(/^UNAUTHENTICATED: the service-account token/) }),
        message: "the control plane rejects this proxy",
      }),
    )
    expect(each.client.connected).toBe(false)
    each.state.proof = { token: "good:orders-1" }
    await connected(each)
  })

  test.each<[string, () => Partial<ClientRigOptions>, RegExp]>([
    [
      "does not trust a control plane of another authority",
      () => ({ bundle: new TestAuthority().bundle }),
      /UNAVAILABLE/,
    ],
    ["does not trust public roots while it has no trust bundle", () => ({ bundle: "" }), /no trust bundle/],
    ["keeps trying a closed port", () => ({ address: "127.0.0.1:1" }), /UNAVAILABLE.*ECONNREFUSED/],
  ])("%s", async (_, options, why) => {
    const each = client(options())
    await until(() => {
      const reasons = each.logged.filter(({ fields }) => why.test(String(Object.entries(fields))))
      expect(reasons.length).toBeGreaterThan(1)
    })
    expect(each.client.connected).toBe(false)
    expect(rig.source.opened).toEqual([])
  })

  it("notices a control plane that accepts and never answers", async () => {
    const sockets = new Set<Socket>()
    const silent: Server = createServer(socket => void sockets.add(socket.on("error", () => {})))
    await new Promise<void>(resolve => silent.listen(0, "127.0.0.1", resolve))
    closing.push(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    const address = silent.address()
    const port = typeof address === "object" ? address?.port : 0
    const each = client({ address: `127.0.0.1:${port}`, limits: { connectMs: 50 } })
    await until(() => expect(sockets.size).toBeGreaterThan(1))
    expect(JSON.stringify(each.logged)).toContain("no connection within 50 ms")
  })

  it("notices a control plane that accepts the stream and never answers", async () => {
    rig.state.tokens = "hanging"
    const each = client({ limits: { answerMs: 1_000 } })
    await until(() => expect(JSON.stringify(each.logged)).toContain("the control plane does not respond"))
    rig.state.tokens = "working"
    await connected(each)
  })
})

describe("calls of a client", () => {
  it("sign and report with the current credentials, with and without a stream", async () => {
    const each = clientRig({ address: rig.address, bundle: rig.authority.bundle })
    const signed = await each.client.signCertificate(new Uint8Array(5), 60)
    expect(signed).toEqual({ certificateChain: "chain 5 60", trustBundle: rig.authority.bundle })
    await each.client.report(["k1", "k2"])
    expect(rig.reports).toMatchObject([[{ proof: "token" }, "shop/orders-1", ["k1", "k2"]]])
    each.state.proof = { token: "bad" }
    await expect(each.client.signCertificate(new Uint8Array(5))).rejects.toMatchObject({
      name: "MeshCallError",
      code: "UNAUTHENTICATED",
      message: expect.stringMatching(/not valid/),
    })
  })
})

it("does nothing after it is closed", async () => {
  const each = client()
  await connected(each)
  each.client.close()
  await until(() => expect(rig.source.closed).toBe(1))
  expect(each.client.connected).toBe(false)
  each.client.start()
  each.client.resubscribe(TYPE)
  expect(rig.source.opened).toHaveLength(1)
})
