// SPDX-License-Identifier: Apache-2.0
// The client does not talk to a control plane that supports only static RSA, or to an attacker who pretends to be one.
// @module-tag needs/openssl

import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createServer, type Server, type TlsOptions } from "node:tls"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { SERVER_NAME } from "../testing/test-authority.js"
import { type ClientRig, clientRig } from "./testing/client-rig.js"

let folder: string
let credentials: { readonly key: string; readonly cert: string }
let server: Server
let rig: ClientRig

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "xds-floor-"))
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
  // An RSA key, because static RSA key exchange needs one.
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=control", "-days", "1"]
  const name = ["-addext", `subjectAltName=DNS:${SERVER_NAME}`]
  execFileSync("openssl", [...made, ...name, "-keyout", key, "-out", cert], { stdio: "ignore" })
  credentials = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") }
})
afterEach(() => {
  rig.client.close()
  server.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Resolves to the first outcome of a handshake. */
async function handshake(options: TlsOptions): Promise<string> {
  const outcomes: string[] = []
  server = createServer({ ...credentials, ALPNProtocols: ["h2"], ...options })
  server.on("secureConnection", socket => {
    outcomes.push(socket.getCipher().name)
    socket.on("error", () => undefined).destroy()
  })
  server.on("tlsClientError", (_, socket) => {
    outcomes.push("rejected")
    socket.destroy()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // TCP servers have this form
  rig = clientRig({ address: `127.0.0.1:${port}`, bundle: credentials.cert })
  rig.client.start()
  await vi.waitFor(() => expect(outcomes).not.toEqual([]), 90_000)
  return outcomes[0] ?? ""
}

it.each<[string, TlsOptions, unknown]>([
  ["TLS 1.3", {}, expect.stringMatching(/^TLS_/)],
  ["TLS 1.2", { maxVersion: "TLSv1.2" }, "rejected"],
])("a control plane that offers %s: %s", async (_, options, expected) => {
  expect(await handshake(options)).toEqual(expected)
})
