// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, connect, createServer, type Server } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { afterAll, beforeAll, expect, it } from "vitest"

let server: Server
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tls-floor-"))
  const [key, cert] = ["key.pem", "cert.pem"].map(name => join(folder, name))
  // An RSA key, because static RSA key exchange needs one.
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=floor", "-days", "1"]
  execFileSync("openssl", [...made, "-keyout", key ?? "", "-out", cert ?? ""], { stdio: "ignore" })
  server = createServer({ key: readFileSync(key ?? ""), cert: readFileSync(cert ?? ""), ...TLS_FLOOR })
  server.on("secureConnection", socket => socket.end())
  server.on("tlsClientError", (_, socket) => socket.destroy())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

function agreed(options: ConnectionOptions): Promise<string> {
  const { port } = server.address() as AddressInfo // TCP servers have this form
  return new Promise(resolve => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options })
    socket.once("secureConnect", () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.once("error", () => resolve("rejected"))
  })
}

const OLD = { minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" } as const

it.each<[string, ConnectionOptions, string]>([
  ["TLS 1.3", {}, "TLSv1.3 TLS_AES_256_GCM_SHA384"],
  ["TLS 1.2 with forward secrecy", { maxVersion: "TLSv1.2" }, "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384"],
  ["static RSA", { maxVersion: "TLSv1.2", ciphers: "AES256-GCM-SHA384:AES128-GCM-SHA256:AES128-SHA" }, "rejected"],
  ["TLS 1.2 without AEAD", { maxVersion: "TLSv1.2", ciphers: "ECDHE-RSA-AES128-SHA256" }, "rejected"],
  ["TLS 1.1", { ...OLD, maxVersion: "TLSv1.1" }, "rejected"],
])("a client that offers %s: %s", async (_, options, expected) => {
  expect(await agreed(options)).toBe(expected)
})
