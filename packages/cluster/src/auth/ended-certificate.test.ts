// SPDX-License-Identifier: Apache-2.0
//
// Expired certificates on open connections. OpenSSL checks a certificate only in the handshake; a connection may
// outlive the certificate, and a resumed session has no certificate in its handshake.

import { mkdtempSync, rmSync } from "node:fs"
import { Agent, createServer, get, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import { catalog, stored } from "../testing/stored.js"
import { authenticate } from "./authenticate.js"
import { type Credentials, loadCredentials } from "./pki.js"
import { Tokens } from "./tokens.js"

const YEAR_MS = 365 * 24 * 3_600_000
let folder: string
let credentials: Credentials
let server: Server

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ended-certificate-"))
  credentials = await loadCredentials(folder, [], Date.now())
  const tokens = new Tokens(credentials, stored([]), catalog, Date.now)
  const { serverCertificate: cert, serverKey: key, caCertificate: ca } = credentials
  server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const result = authenticate(request, tokens).then(
      ({ name }) => name,
      ({ code }: { code: number }) => String(code),
    )
    void result.then(who => response.end(who))
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})
afterEach(() => vi.useRealTimers())
afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

const port = (): number => (server.address() as AddressInfo).port // a TCP server has a port

it("rejects a certificate that expired while its connection was open", async () => {
  const { adminCertificate: cert, adminKey: key, caCertificate: ca } = credentials
  const agent = new Agent({ keepAlive: true, maxSockets: 1, cert, key, ca })
  const asked = (): Promise<readonly [string, boolean]> =>
    new Promise((resolve, reject) => {
      const request = get({ host: "127.0.0.1", port: port(), agent }, response => {
        let text = ""
        response.on("data", chunk => (text += chunk))
        response.on("end", () => resolve([text, request.reusedSocket]))
      }).on("error", reject)
    })
  expect(await asked()).toEqual(["admin", false])
  expect(await asked()).toEqual(["admin", true])
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * YEAR_MS })
  expect(await asked()).toEqual(["401", true])
  agent.destroy()
})

it("rejects a certificate that expired before its session was resumed", async () => {
  const { adminCertificate: cert, adminKey: key, caCertificate: ca } = credentials
  let session: Buffer | undefined
  const visit = async (): Promise<readonly [string, boolean]> => {
    const offered = session === undefined ? {} : { session }
    const socket: TLSSocket = connect({ host: "127.0.0.1", port: port(), ca, cert, key, ...offered })
    socket.on("session", ticket => {
      session ??= ticket
    })
    let resumed = false
    socket.on("secureConnect", () => {
      resumed = socket.isSessionReused()
    })
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let text = ""
    for await (const chunk of socket) text += chunk
    const result = /admin|401/.exec(text)?.[0] ?? text
    return [result, resumed]
  }
  expect(await visit()).toEqual(["admin", false])
  expect(await visit()).toEqual(["admin", true])
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * YEAR_MS })
  expect(await visit()).toEqual(["401", true])
})
