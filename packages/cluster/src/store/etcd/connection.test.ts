// SPDX-License-Identifier: Apache-2.0

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "@merlon/wire/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { TestAuthority } from "../testing/certificates.js"
import { EtcdProcess } from "../testing/etcd-process.js"
import { freePort } from "../testing/free-port.js"
import { Connection, parseEndpoint } from "./connection.js"
import { decodeRange, encodeRange } from "./messages.js"
import { openEtcdStore } from "./open.js"

const write = { key: "/a", value: "{}" }

describe("endpoints", () => {
  it.each([
    ["https://etcd-0.etcd:2379", { address: "etcd-0.etcd:2379", secure: true }],
    ["http://127.0.0.1:2379/", { address: "127.0.0.1:2379", secure: false }],
    ["[::1]:2379", { address: "[::1]:2379", secure: false }],
  ])("accepts %s", (text, expected) => {
    expect(parseEndpoint(text)).toEqual(expected)
  })

  it.each(["", "etcd", "ftp://etcd:2379", "https://etcd:2379/path", "https://etcd"])("rejects `%s`", text => {
    expect(() => parseEndpoint(text)).toThrow("write https://host:2379")
  })
})

it("reads from the next endpoint if the first is down, for all callers at once (needs etcd)", {
  tags: ["needs/etcd"],
}, async () => {
  const server = await EtcdProcess.start()
  const gone = `http://127.0.0.1:${await freePort()}`
  const connection = new Connection({ endpoints: [gone, server.endpoint], timeoutMs: 12_000 })
  try {
    const read = () => connection.repeatedly("/etcdserverpb.KV/Range", encodeRange({ key: "/" }), decodeRange)
    await expect(Promise.all([read(), read()])).resolves.toMatchObject([{ kvs: [] }, { kvs: [] }])
  } finally {
    connection.close()
    await server.stop()
  }
})

describe("etcd behind TLS (needs etcd)", { tags: ["needs/etcd"] }, () => {
  let folder: string
  let authority: TestAuthority
  let server: EtcdProcess

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "merlon-tls-"))
    authority = await TestAuthority.create(folder)
    const { certificateFile, keyFile } = await authority.issue("server")
    const flags = ["--cert-file", certificateFile, "--key-file", keyFile]
    server = await EtcdProcess.start({
      scheme: "https",
      flags: [...flags, "--client-cert-auth", "--trusted-ca-file", authority.caFile],
    })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it("accepts a client with a certificate", async () => {
    const { certificate, key } = await authority.issue("client")
    const store = await openEtcdStore({
      endpoints: [server.endpoint],
      tls: { ca: authority.ca, certificate, key },
    })
    expect(await store.commit([], [write])).toBeGreaterThan(0)
    await store.close()
  })

  it("rejects a client without a certificate, and a server of another authority", async () => {
    const { certificate, key } = await authority.issue("client")
    for (const tls of [{ ca: authority.ca }, { certificate, key }])
      await expect(openEtcdStore({ endpoints: [server.endpoint], tls, timeoutMs: 500 })).rejects.toMatchObject({
        code: expect.stringMatching(/^store-un/),
      })
  })
})

describe("etcd with users (needs etcd)", { tags: ["needs/etcd"] }, () => {
  let server: EtcdProcess

  beforeAll(async () => {
    server = await EtcdProcess.start()
    await server.gateway("auth/user/add", { name: "root", password: "secret" })
    await server.gateway("auth/role/add", { name: "root" })
    await server.gateway("auth/user/grant", { user: "root", role: "root" })
    await server.gateway("auth/enable", {})
  })
  afterAll(() => server.stop())

  it("accepts a login, also after etcd has forgotten it", async () => {
    const user = { name: "root", password: "secret" }
    const store = await openEtcdStore({ endpoints: [server.endpoint], user })
    const received: number[] = []
    store.watch("/", store.revision(), ({ revision }) => received.push(revision))
    expect(await store.commit([], [write])).toBeGreaterThan(0)
    await server.kill()
    await server.launch()
    await eventually(
      () =>
        store.commit([], [write]).then(
          () => true,
          () => false,
        ),
      { what: "a write is committed after the restart" },
    )
    await eventually(() => received.length >= 2, { what: "the watch has both events" })
    await store.close()
  })

  it("names the user whose login failed, and fails without one", async () => {
    const user = { name: "root", password: "wrong" }
    await expect(openEtcdStore({ endpoints: [server.endpoint], user })).rejects.toMatchObject({
      code: "store-rejected",
      message: expect.stringContaining("log-in of `root`"),
    })
    await expect(openEtcdStore({ endpoints: [server.endpoint] })).rejects.toMatchObject({ code: "store-rejected" })
  })
})
