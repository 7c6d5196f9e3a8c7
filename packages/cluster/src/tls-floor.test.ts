// SPDX-License-Identifier: Apache-2.0
//
// A peer that supports only static RSA is rejected, whether it calls the cluster or the cluster calls it.
// @module-tag needs/openssl

import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, connect, createServer, type Server, type TlsOptions } from "node:tls"
import { Client } from "@grpc/grpc-js"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { callWebhook, closeAgents } from "./admission/client.js"
import { etcdCredentials } from "./store/etcd/connection.js"

const STATIC_RSA = { maxVersion: "TLSv1.2", ciphers: "AES256-GCM-SHA384:AES128-GCM-SHA256" } as const
let folder: string
let credentials: { readonly key: Buffer; readonly cert: Buffer }
let server: Server

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cluster-floor-"))
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
  // Static RSA key exchange needs an RSA key: the client encrypts the session key with it.
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
  execFileSync("openssl", [...made, "-keyout", key, "-out", cert], { stdio: "ignore" })
  credentials = { key: readFileSync(key), cert: readFileSync(cert) }
})
afterEach(async () => {
  server.close()
  await closeAgents()
})
afterAll(() => rmSync(folder, { recursive: true }))

async function listen(options: TlsOptions): Promise<number> {
  server = createServer({ ...credentials, ...options })
  server.on("secureConnection", socket => socket.on("error", () => undefined).end())
  server.on("tlsClientError", (_, socket) => socket.destroy())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return (server.address() as AddressInfo).port // it listens on TCP
}

it.each<[string, ConnectionOptions, string]>([
  ["TLS 1.3", {}, "TLSv1.3 TLS_AES_256_GCM_SHA384"],
  ["TLS 1.2 with forward secrecy", { maxVersion: "TLSv1.2" }, "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384"],
  ["static RSA", STATIC_RSA, "rejected"],
  ["TLS 1.2 without AEAD", { maxVersion: "TLSv1.2", ciphers: "ECDHE-RSA-AES128-SHA256" }, "rejected"],
])("checks the TLS version and cipher of a client that offers %s", async (_, options, expected) => {
  const socket = connect({ host: "127.0.0.1", port: await listen(TLS_FLOOR), rejectUnauthorized: false, ...options })
  const agreed = await new Promise<string>(resolve => {
    socket.once("secureConnect", () => resolve(`${socket.getProtocol()} ${socket.getCipher().name}`))
    socket.once("error", () => resolve("rejected"))
  })
  socket.destroy()
  expect(agreed).toBe(expected)
})

it.each<[string, (port: number) => unknown]>([
  ["a webhook", port => webhook(port).catch(() => undefined)],
  [
    "etcd",
    port => {
      const client = new Client(`127.0.0.1:${port}`, etcdCredentials({ ca: credentials.cert }))
      client.waitForReady(Date.now() + 60_000, () => undefined)
      server.once("close", () => client.close())
      return undefined
    },
  ],
])("rejects %s that supports only static RSA", async (_, call) => {
  const port = await listen(STATIC_RSA)
  const outcome = new Promise(resolve => {
    server.once("secureConnection", () => resolve("agreed"))
    server.once("tlsClientError", (error: NodeJS.ErrnoException) => resolve(error.code))
  })
  void call(port)
  expect(await outcome).toBe("ERR_SSL_NO_SHARED_CIPHER")
})

function webhook(port: number): Promise<unknown> {
  const target = { url: `https://127.0.0.1:${port}/`, caBundle: credentials.cert.toString("base64") }
  return callWebhook(target, { request: { uid: "1" } }, 30, "admission.k8s.io/v1")
}
