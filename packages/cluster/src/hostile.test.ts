// SPDX-License-Identifier: Apache-2.0
//
// Hostile or broken clients get an error and do not affect the server: oversized and endless bodies, invalid bytes,
// slow readers, too many watches, forged credentials.

import { mkdtemp, rm } from "node:fs/promises"
import { request } from "node:https"
import { connect as plain, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Credentials, loadCredentials } from "./auth/pki.js"
import { type Cluster, startCluster } from "./cluster.js"
import { OracleClient } from "./testing/oracle/client.js"

let folder: string
let cluster: Cluster
/** A server with short timeouts, so that slow clients are disconnected even if the machine is busy. */
let shortTimeouts: Cluster
let credentials: Credentials
let client: OracleClient
const maps = "/api/v1/namespaces/default/configmaps"

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hostile-"))
  cluster = await startCluster({
    dataDir: join(folder, "cluster"),
    port: 0,
    limits: { backlogBytesPerWatch: 1024 * 1024 },
  })
  shortTimeouts = await startCluster({
    dataDir: join(folder, "short-timeouts"),
    port: 0,
    limits: { headersTimeout: 500, requestTimeout: 500 },
  })
  credentials = await loadCredentials(join(folder, "cluster", "pki"), [], Date.now())
  client = new OracleClient({
    url: cluster.url,
    ca: credentials.caCertificate,
    cert: credentials.adminCertificate,
    key: credentials.adminKey,
  })
})

afterAll(async () => {
  client.close()
  await cluster.close()
  await shortTimeouts.close()
  await rm(folder, { recursive: true, force: true })
})

const raw = (text: string, options: object = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: "127.0.0.1",
        port: cluster.port,
        ca: credentials.caCertificate,
        cert: credentials.adminCertificate,
        key: credentials.adminKey,
        ...options,
      },
      () => socket.write(text),
    )
    let answer = ""
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()))
    socket.on("error", reject)
    socket.on("close", () => resolve(answer))
  })

describe("bodies", () => {
  it("rejects a body over the limit before reading it", async () => {
    const answer = await raw(
      `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413/)
    expect(answer).toMatch("Request entity too large: limit is 3145728")
  })

  it("rejects an endless chunked body, and the client receives the response while it is still sending", async () => {
    const answer = await new Promise<number>(resolve => {
      const outgoing = request(
        `${cluster.url}${maps}`,
        {
          method: "POST",
          ca: credentials.caCertificate,
          cert: credentials.adminCertificate,
          key: credentials.adminKey,
          headers: { "Content-Type": "application/json" },
        },
        response => {
          resolve(response.statusCode ?? 0)
          outgoing.destroy()
        },
      )
      outgoing.on("error", () => resolve(0))
      const chunk = "x".repeat(1 << 16)
      const more = (): void => {
        while (!outgoing.destroyed && outgoing.write(chunk));
        if (!outgoing.destroyed) outgoing.once("drain", more)
      }
      more()
    })
    expect(answer).toBe(413)
  })

  it.each([
    ["nesting", `${"[".repeat(50_000)}`],
    ["nested objects", `{"a":`.repeat(20_000)],
    ["a huge exponent", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":1e999999}}'],
    ["a lone surrogate", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"\\ud800"}}'],
    [
      "a prototype",
      '{"__proto__":{"polluted":true},"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"__proto__"}}',
    ],
    ["bytes that are not UTF-8", "\xff\xfe\xfd"],
  ])("responds to %s with a 4xx", async (_, rawBody) => {
    const { status } = await client.send({ method: "POST", path: maps, rawBody })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it("rejects YAML whose aliases expand exponentially", async () => {
    const lines = [
      "a0: &a0 [x,x,x,x,x,x,x,x,x]",
      ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(",")}]`),
    ]
    const { status } = await client.send({
      method: "POST",
      path: maps,
      headers: { "Content-Type": "application/yaml" },
      rawBody: lines.join("\n"),
    })
    expect(status).toBe(400)
  })

  it("rejects protobuf that is truncated or nested too deeply", async () => {
    for (const bytes of [
      Buffer.from("k8s\0\x0a\xff\xff\xff\xff\x0f", "latin1"),
      Buffer.concat([Buffer.from("k8s\0", "latin1"), Buffer.from([0x12, 0x7f])]),
    ]) {
      const { status } = await client.send({
        method: "POST",
        path: maps,
        headers: { "Content-Type": "application/vnd.kubernetes.protobuf" },
        bodyBase64: bytes.toString("base64"),
      })
      expect(status).toBe(400)
    }
  })
})

describe("connections", () => {
  it("responds to garbage with 400 and closes", async () => {
    expect(await raw("GET / HTTP/1.1\r\nbad header\r\n\r\n")).toMatch(/^HTTP\/1\.1 400/)
  })

  const untilClosed = (socket: Socket): Promise<string> =>
    new Promise(resolve => {
      let text = ""
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()))
      socket.on("error", () => undefined)
      socket.on("close", () => resolve(text))
    })

  it("closes a connection whose request never arrives", async () => {
    const socket = connect({ host: "127.0.0.1", port: shortTimeouts.port, rejectUnauthorized: false })
    socket.write("GET /api HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    expect(await untilClosed(socket)).toMatch(/^$|^HTTP\/1\.1 408/)
  })

  it("closes a connection without a TLS handshake", async () => {
    expect(await untilClosed(plain(shortTimeouts.port, "127.0.0.1"))).toBe("")
  })

  it("disconnects a watcher that does not read", async () => {
    const socket = connect(
      {
        host: "127.0.0.1",
        port: cluster.port,
        ca: credentials.caCertificate,
        cert: credentials.adminCertificate,
        key: credentials.adminKey,
      },
      () => {
        socket.write(`GET ${maps}?watch=1&timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\n\r\n`)
      },
    )
    let closed = false
    socket.on("close", () => (closed = true))
    socket.on("error", () => undefined)
    await new Promise(resolve => socket.once("data", resolve))
    socket.pause()
    const data = { k: "x".repeat(900_000) }
    await client.send({ method: "POST", path: maps, body: { metadata: { name: "big" }, data } })
    for (let i = 0; i < 12; i++)
      await client.send({
        method: "PATCH",
        path: `${maps}/big`,
        headers: { "Content-Type": "application/merge-patch+json" },
        body: { metadata: { labels: { n: `${i}` } } },
      })
    socket.resume()
    for (let i = 0; i < 1200 && !closed; i++) await new Promise(resolve => setTimeout(resolve, 50))
    expect(closed).toBe(true)
    expect((await client.send({ method: "GET", path: "/readyz" })).status).toBe(200)
  }, 120_000)
})

describe("credentials", () => {
  it("rejects a certificate of a foreign authority", async () => {
    const foreign = await loadCredentials(join(folder, "foreign"), [], Date.now())
    const answer = await raw("GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {
      cert: foreign.adminCertificate,
      key: foreign.adminKey,
    })
    expect(answer).toMatch(/^HTTP\/1\.1 401/)
  })

  it.each([
    "x",
    "a.b.c",
    `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"system:masters"}').toString("base64url")}.`,
  ])("rejects the token %s", async bearer => {
    expect((await client.send({ method: "GET", path: "/api", user: { bearer } })).status).toBe(401)
  })

  it("accepts TLS only", async () => {
    const answer = await new Promise<string>(resolve => {
      const socket = plain(cluster.port, "127.0.0.1", () => socket.write("GET /api HTTP/1.1\r\nHost: x\r\n\r\n"))
      let text = ""
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()))
      socket.on("close", () => resolve(text))
      socket.on("error", () => resolve(text))
    })
    expect(answer).not.toMatch(/200 OK|APIVersions/)
  })
})
