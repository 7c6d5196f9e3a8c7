// SPDX-License-Identifier: Apache-2.0
//
// One hostile account over real connections: slow bodies, slow watchers, unread responses, idle connections. All other
// clients, above all the leader of a control plane, are served throughout.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, createSecureContext, type SecureContext, type TLSSocket } from "node:tls"
import { eventually } from "@merlon/wire/testing"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Credentials, loadCredentials } from "./auth/pki.js"
import { type Cluster, startCluster } from "./cluster.js"
import { type Answer, OracleClient } from "./testing/oracle/client.js"
import { asString, dig, type Json } from "./value.js"

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/mesh/leases"
const MAPS = "/api/v1/namespaces/shop/configmaps"
const PER_USER = 2 * 1024 * 1024

let folder: string
let cluster: Cluster
let credentials: Credentials
let client: OracleClient
/** One TLS context for hundreds of connections. */
let secureContext: SecureContext
let tenant: string
let leader: string
const sockets: TLSSocket[] = []

const admin = (method: "GET" | "POST" | "PUT", path: string, body?: Json): Promise<Answer> =>
  client.send({ method, path, ...(body === undefined ? {} : { body }) })

async function account(namespace: string, role: string): Promise<string> {
  await admin("POST", "/api/v1/namespaces", { metadata: { name: namespace } })
  await admin("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "a" } })
  await admin("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: "a", namespace }],
  })
  return token(namespace)
}

async function token(namespace: string): Promise<string> {
  const issued = await admin("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/a/token`, { spec: {} })
  return asString(dig(issued.body, "status", "token"))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairness-"))
  cluster = await startCluster({
    dataDir: folder,
    port: 0,
    systemNamespaces: ["mesh"],
    limits: { watchesPerUser: 50, backlogBytesPerUser: PER_USER, bodyBytesPerUser: PER_USER, maxConnections: 230 },
  })
  credentials = await loadCredentials(join(folder, "pki"), [], Date.now())
  secureContext = createSecureContext({ ca: credentials.caCertificate })
  client = new OracleClient({
    ...{ url: cluster.url, ca: credentials.caCertificate },
    ...{ cert: credentials.adminCertificate, key: credentials.adminKey },
  })
  tenant = await account("shop", "view")
  leader = await account("mesh", "cluster-admin")
  await admin("POST", LEASES, { metadata: { name: "leader" }, spec: { holderIdentity: "one", leaseTransitions: 0 } })
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

afterAll(async () => {
  client.close()
  await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

/** Opens a connection of the tenant and sends `text`; `answer` returns the bytes received so far. */
async function open(text: string, paused = false): Promise<{ socket: TLSSocket; answer: () => string }> {
  const socket = connect({ host: "127.0.0.1", port: cluster.port, secureContext })
  sockets.push(socket)
  let answer = ""
  socket.on("error", () => undefined)
  await new Promise(resolve => socket.once("secureConnect", resolve))
  socket.write(text)
  if (paused) socket.pause()
  else socket.on("data", (chunk: Buffer) => (answer += chunk.toString()))
  return { socket, answer: () => answer }
}

const head = (method: string, path: string, bearer = tenant, more = ""): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\n${more}\r\n`

const slowBody = (declared: number): string =>
  head("POST", REVIEWS, tenant, `Content-Type: application/json\r\nContent-Length: ${declared}\r\n`)

async function gauge(name: string): Promise<number> {
  const text = (await admin("GET", "/metrics")).text ?? ""
  return Number(new RegExp(`^merlon_cluster_${name} (\\S+)$`, "m").exec(text)?.[1])
}

async function renew(): Promise<number> {
  const path = `${LEASES}/leader`
  const { body } = await client.send({ method: "GET", path, user: { bearer: leader } })
  return (await client.send({ method: "PUT", path, body: body ?? {}, user: { bearer: leader } })).status
}

describe("slow bodies", () => {
  it("take no slots: 210 of them block neither writes nor the leader's lease", async () => {
    for (let i = 0; i < 210; i++) await open(`${slowBody(1000)}{"spec":`)
    await eventually(async () => (await gauge("body_bytes")) >= 210 * 8, {
      what: "the bodies of 210 requests are counted",
    })
    expect(await gauge("writes_in_flight")).toBe(0)
    expect(await renew()).toBe(200)
    expect((await admin("POST", MAPS, { metadata: { name: "meanwhile" } })).status).toBe(201)
  }, 120_000)

  it("that declare a large size reserve nothing, and bytes over a user's share are rejected", async () => {
    const chunk = `{"a":"${"x".repeat(500_000)}`
    const open4 = await Promise.all(Array.from({ length: 4 }, () => open(slowBody(3_000_000) + chunk)))
    await eventually(async () => (await gauge("body_bytes")) >= 4 * 500_000, { what: "four bodies are buffered" })
    const fifth = await open(slowBody(3_000_000) + chunk)
    await eventually(() => fifth.answer().includes("\r\n\r\n{"), { what: "the fifth body is answered" })
    expect(fifth.answer()).toMatch(/^HTTP\/1\.1 429/)
    expect(fifth.answer()).toMatch(/retry-after: 1/i)
    expect(open4.map(({ answer }) => answer())).toEqual(["", "", "", ""])
    expect((await admin("POST", MAPS, { metadata: { name: "large" }, data: { k: chunk } })).status).toBe(201)
    for (const { socket } of open4) socket.destroy()
    await eventually(async () => (await gauge("body_bytes")) === 0, { what: "no body is buffered" })
  }, 120_000)
})

describe("slots", () => {
  it("are released by requests that fail, are rejected or disconnect", async () => {
    const { answer } = await open(`${slowBody(1)}{`)
    await eventually(() => answer().includes("\r\n\r\n{"), { what: "the request is answered" })
    expect(answer()).toMatch(/^HTTP\/1\.1 400/)
    const gone = await open(slowBody(10))
    gone.socket.destroy()
    await eventually(async () => (await gauge("writes_in_flight")) === 0 && (await gauge("body_bytes")) === 0, {
      what: "no write is in flight and no body is buffered",
    })
  }, 120_000)
})

describe("watchers", () => {
  it("that disconnect during authentication use no slot", async () => {
    const before = await gauge("connections")
    for (let i = 0; i < 20; i++) {
      // A token that was sent before would be authenticated without waiting.
      const fresh = await token("shop")
      const { socket } = await open("")
      const watch = head("GET", `${MAPS}?watch=1&timeoutSeconds=600`, fresh)
      await new Promise(resolve => socket.write(watch, resolve))
      socket.destroy()
    }
    await eventually(async () => (await gauge("connections")) <= before, { what: "the connections are closed" })
    await eventually(async () => (await gauge("watches")) === 0, { what: "no watch is open" })
  }, 120_000)
})

describe("slow watchers", () => {
  it("of one account hold no more than its share, while others receive every event", async () => {
    const name = "seen"
    await admin("POST", MAPS, { metadata: { name }, data: { k: "x".repeat(200_000) } })
    for (let i = 0; i < 50; i++) await open(head("GET", `${MAPS}?watch=1&timeoutSeconds=600`), true)
    await eventually(async () => (await gauge("watches")) === 50, { what: "50 watches are open" })
    const other = await open(head("GET", `${MAPS}?watch=1&fieldSelector=metadata.name=seen`, leader))
    await eventually(() => other.answer().includes("ADDED"), { what: "the other watch has an event" })
    let most = 0
    for (let i = 1; i <= 30; i++) {
      const data = { n: `${i}`, k: "x".repeat(200_000) }
      expect((await admin("PUT", `${MAPS}/${name}`, { metadata: { name }, data })).status).toBe(200)
      most = Math.max(most, await gauge("backlog_bytes"))
    }
    expect(most).toBeGreaterThan(0)
    // The pending event of the other watcher is not part of the account's share.
    expect(most).toBeLessThan(PER_USER + 1_000_000)
    await eventually(async () => (await gauge("watches")) < 50, { what: "a watch is closed" })
    await eventually(() => other.answer().includes('"n":"30"'), { what: "the other watch has the last event" })
    const seen = new Set(Array.from(other.answer().matchAll(/"n":"(\d+)"/g), ([, n]) => Number(n)))
    expect(seen).toEqual(new Set(Array.from({ length: 30 }, (_, i) => i + 1)))
  }, 120_000)

  it("cannot exceed a user's share of watches", async () => {
    for (let i = 0; i < 50; i++) await open(head("GET", `${MAPS}?watch=1&fieldSelector=metadata.name=none`))
    await eventually(async () => (await gauge("watches")) === 50, { what: "50 watches are open" })
    const { answer } = await open(head("GET", `${MAPS}?watch=1`))
    await eventually(() => answer().includes("\r\n\r\n"), { what: "the watch is answered" })
    expect(answer()).toMatch(/^HTTP\/1\.1 429/)
    expect(answer()).toMatch(/retry-after: 5/i)
  }, 120_000)
})

describe("responses that are not read", () => {
  it("are rejected beyond a user's share, and take no slots", async () => {
    const list = head("GET", MAPS)
    // More than the socket buffers of the operating system can hold.
    for (let i = 0; i < 24; i++)
      await admin("POST", MAPS, { metadata: { name: `big-${i}` }, data: { k: "x".repeat(900_000) } })
    await open(list, true)
    await eventually(async () => (await gauge("backlog_bytes")) > 0, { what: "a watch has a backlog" })
    const second = await open(list)
    await eventually(() => second.answer().includes("\r\n\r\n{"), { what: "the second client is answered" })
    expect(second.answer()).toMatch(/^HTTP\/1\.1 429/)
    // Reading the gauge takes one slot itself.
    expect(await gauge("reads_in_flight")).toBe(1)
    expect((await admin("GET", MAPS)).status).toBe(200)
  }, 120_000)

  it("make their owner's writes fail before they take effect", async () => {
    const editor = await account("editors", "cluster-admin")
    const body = JSON.stringify({ metadata: { name: "rejected" } })
    await open(head("GET", MAPS, editor), true)
    await eventually(async () => (await gauge("backlog_bytes")) > 0, { what: "a watch has a backlog" })
    const more = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    const write = await open(head("POST", MAPS, editor, more) + body)
    await eventually(() => write.answer().includes("\r\n\r\n{"), { what: "the write is answered" })
    expect(write.answer()).toMatch(/^HTTP\/1\.1 429/)
    expect((await admin("GET", `${MAPS}/rejected`)).status).toBe(404)
  }, 120_000)
})

describe("idle connections", () => {
  it("over the limit are closed for their owner, not for the system", async () => {
    expect(await renew()).toBe(200)
    for (let i = 0; i < 240; i++) await open(head("GET", "/version"))
    await eventually(async () => (await gauge("connections")) <= 230, { what: "connections are closed" })
    expect(await renew()).toBe(200)
    expect((await admin("GET", "/api")).status).toBe(200)
  }, 120_000)
})
