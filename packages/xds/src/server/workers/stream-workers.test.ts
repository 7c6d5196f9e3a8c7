// SPDX-License-Identifier: Apache-2.0
// A server whose connections are held by real processes: what is decided is decided as where there are none.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { create } from "@bufbuild/protobuf"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { ReportRequestSchema, SignCertificateRequestSchema } from "../../generated/merlon/mesh/v1/mesh_pb.js"
import { bundled } from "../../testing/bundled.js"
import { RawClient, type RawOptions } from "../../testing/raw-client.js"
import { type ServerRig, serverRig } from "../../testing/server-rig.js"
import { TestAuthority } from "../../testing/test-authority.js"
import { report, signCertificate } from "../../wire/methods.js"

const TYPE = "type.googleapis.com/test.Thing"
const NODE = { id: "shop/orders-1" }
const PROGRAM = 'import { MeshServer } from "../mesh-server.ts"; await MeshServer.work()'
const folder = mkdtempSync(join(tmpdir(), "merlon-workers-"))
const WORKERS = {
  count: 2,
  exec: join(folder, "worker.mjs"),
  execArgv: [],
  // Longer than a busy machine keeps a process waiting that is not stuck.
  answerMs: 20_000,
}
const clients: RawClient[] = []
const streams: ReturnType<RawClient["delta"]>[] = []
let rig: ServerRig
let open = 0

beforeAll(async () => {
  writeFileSync(WORKERS.exec, bundled(PROGRAM, import.meta.dirname))
  rig = await serverRig({
    workers: WORKERS,
    limits: { recheckMs: 20 },
    observe: {
      connections(count) {
        open = count
      },
    },
  })
})

beforeEach(() => void rig.source.opened.splice(0))

afterEach(async () => {
  for (const { call } of streams.splice(0)) call.cancel()
  for (const client of clients.splice(0)) client.client.close()
  while (open > 0) await new Promise(resolve => setTimeout(resolve, 10))
})

afterAll(async () => {
  await rig.server.close()
  rmSync(folder, { recursive: true })
})

function connect(options: Partial<RawOptions> = { token: "good:orders-1" }): RawClient {
  const client = new RawClient({ address: rig.address, bundle: rig.authority.bundle, ...options })
  clients.push(client)
  return client
}

function streamed(options?: Partial<RawOptions>) {
  const stream = connect(options).delta()
  streams.push(stream)
  return stream
}

async function subscribed(options?: Partial<RawOptions>) {
  const stream = streamed(options)
  stream.send({ node: NODE, typeUrl: TYPE, resourceNamesSubscribe: ["*"] })
  return { stream, first: await stream.response(0) }
}

/** Of the processes that hold connections. */
function workers(): readonly number[] {
  return readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(/\s+/).map(Number)
}

/** Until so many have been, and listen. */
async function replaced(count: number): Promise<void> {
  const isThat = ({ message }: { readonly message: string }): boolean => message.includes("was replaced")
  while (rig.logged.filter(isThat).length < count) {
    // Whatever is said to one that is still starting must not be waited for.
    rig.server.credentialsChanged()
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

it("knows callers by their certificates, and where they call from", async () => {
  const credentials = rig.authority.workload(undefined, undefined, { name: "orders-1", uid: "u1" })
  await subscribed({ credentials })
  expect(rig.source.opened).toMatchObject([
    {
      caller: { proof: "certificate", serial: credentials.serial, pod: "orders-1", podUid: "u1" },
      node: { id: "shop/orders-1", peerAddress: "127.0.0.1" },
    },
  ])
})

it.each<[string, () => Partial<RawOptions>]>([
  ["no proof", () => ({})],
  ["a bad token", () => ({ token: "bad" })],
  ["a certificate of another authority", () => ({ credentials: new TestAuthority().workload() })],
])("refuses whoever has %s", async (_, options) => {
  const stream = streamed(options())
  stream.send({ node: NODE, typeUrl: TYPE })
  expect(await stream.ended()).toMatch(/^UNAUTHENTICATED/)
  expect(rig.source.opened).toEqual([])
})

it("sends what changes to everybody, on whichever process, and hears that it was taken", async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => subscribed()))
  rig.source.heard.splice(0)
  rig.source.set(TYPE, "a", "1", Buffer.alloc(300_000, "a"))
  for (const { stream, first } of all) {
    stream.send({ typeUrl: TYPE, responseNonce: first.nonce })
    const { resources, nonce } = await stream.response(1)
    expect(resources[0]?.resource?.value).toHaveLength(300_000)
    stream.send({ typeUrl: TYPE, responseNonce: nonce })
  }
  while (rig.source.heard.length < 2 * all.length) await new Promise(resolve => setTimeout(resolve, 10))
  expect(new Set(rig.source.heard.map(({ kind }) => kind))).toEqual(new Set(["acknowledged"]))
  expect(open).toBe(all.length)
})

it("signs and hears reports", async () => {
  const client = connect()
  const request = create(SignCertificateRequestSchema, { signingRequest: new Uint8Array(3), nodeId: "shop/orders-1" })
  expect((await client.unary(signCertificate, request)).certificateChain).toBe("chain 3 0")
  await client.unary(report, create(ReportRequestSchema, { nodeId: "shop/orders-1", unknownKeys: ["k"] }))
  expect(rig.reports).toMatchObject([[{ serviceAccount: "orders" }, "shop/orders-1", ["k"]]])
})

it("ends the stream of a certificate that is revoked, and of a root that is trusted no more", async () => {
  const [revoked, old] = [rig.authority.workload(), rig.authority.workload()]
  const first = await subscribed({ credentials: revoked })
  const second = await subscribed({ credentials: old })
  rig.state.revoked.add(revoked.serial)
  expect(await first.stream.ended()).toMatch(/^PERMISSION_DENIED: .*revoked/)
  rig.state.clientTrustBundle = new TestAuthority().bundle
  rig.server.recheck()
  expect(await second.stream.ended()).toMatch(/^UNAUTHENTICATED: .*trusted no more/)
  // Also before the processes have heard of it.
  const late = streamed({ credentials: rig.authority.workload() })
  late.send({ node: NODE, typeUrl: TYPE })
  expect(await late.ended()).toMatch(/^UNAUTHENTICATED/)
  rig.state.clientTrustBundle = rig.authority.bundle
  rig.server.credentialsChanged()
})

it("cuts off who says more than it may, and serves the others", async () => {
  const { stream: patient } = await subscribed()
  const { stream: hasty } = await subscribed({ token: "good:orders-2" })
  for (let n = 0; n < 2_000; n++) hasty.send({ typeUrl: TYPE, resourceNamesSubscribe: [`n${n}`] })
  expect(await hasty.ended()).toMatch(/^RESOURCE_EXHAUSTED/)
  expect(patient.end).toBeUndefined()
})

it("replaces a process that dies, whose clients alone have to come again", async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => subscribed()))
  const [victim = 0] = workers()
  process.kill(victim, "SIGKILL")
  while (!rig.logged.some(({ message }) => message.includes("has ended; its proxies connect again")))
    await new Promise(resolve => setTimeout(resolve, 10))
  const ended = all.filter(({ stream }) => stream.end !== undefined)
  expect(open).toBe(all.length - ended.length)
  expect(open).toBeGreaterThan(0)
  await replaced(1)
  await Promise.all(Array.from({ length: 4 }, () => subscribed()))
})

it("replaces a process that is stuck as soon as something is to be said to it", async () => {
  const [stuck = 0] = workers()
  process.kill(stuck, "SIGSTOP")
  rig.server.credentialsChanged()
  await replaced(2)
  expect(workers()).not.toContain(stuck)
  await Promise.all(Array.from({ length: 4 }, () => subscribed()))
})
