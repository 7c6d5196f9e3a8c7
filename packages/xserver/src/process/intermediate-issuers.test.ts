// SPDX-License-Identifier: Apache-2.0
// Callers whose certificates were signed by an intermediate authority, as with an operator's own CA. When another root
// is removed, open connections still verify against their root, with the certificates from the handshake.

import { once } from "node:events"
import { createServer as createHttp } from "node:http"
import { type AddressInfo, createServer, type Server } from "node:net"
import { connect, type TLSSocket } from "node:tls"
import { meshConfig } from "@merlon/policy/mesh"
import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { Authority, OWN_ID } from "../accept/testing/certificates.js"
import type { ApplicationPort } from "../config/application-port.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

const root = new Authority("A root")
const other = new Authority("Another root")
const issuing = new Authority("An issuer below the root", root)
const own = root.issue({ uris: [OWN_ID] })
const http = createHttp((_, reply) => reply.write("begun\n"))
const tcp = createServer(socket => socket.on("error", () => undefined).write("begun\n"))
const sockets: TLSSocket[] = []
let path: LocalDataPath
let revision = 0

const port = (number: number, protocol: ApplicationPort["protocol"], server: Server): ApplicationPort => ({
  port: number,
  listen: { host: "127.0.0.1", port: 0 },
  upstream: { host: "127.0.0.1", port: (server.address() as AddressInfo).port }, // TCP servers have an AddressInfo
  protocol,
  upstreamProtocol: "http/1.1",
  serviceNames: [],
})

async function trust(...roots: readonly Authority[]): Promise<void> {
  const trustBundle = roots.map(({ certificate }) => certificate).join("")
  await path.apply({
    revision: ++revision,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels: {} },
    ports: [port(8080, "http", http), port(9000, "tcp", tcp)],
    policies: [],
    keySets: {},
    tls: { certificateChain: own.certificate, privateKey: own.privateKey, trustBundle },
    revocations: { identities: [], serials: [] },
    probes: {},
  })
}

async function ended(): Promise<number> {
  const [metrics] = await path.metrics()
  const counted = metrics?.find(({ name }) => name === "merlon_xserver_ended_by_change_total")
  return (counted?.values ?? []).reduce((sum, { value }) => sum + value, 0)
}

async function opened(which: 0 | 1, session?: Buffer, shown = issuing.certificate): Promise<TLSSocket> {
  const { certificate, privateKey } = caller
  const socket = connect({
    host: "127.0.0.1",
    port: path.addresses()[which]?.port ?? 0,
    cert: certificate + shown,
    key: privateKey,
    rejectUnauthorized: false,
    ALPNProtocols: which === 0 ? ["http/1.1"] : ["merlon"],
    ...(session === undefined ? {} : { session }),
  })
  sockets.push(socket.on("error", () => undefined))
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  let text = ""
  await eventually(() => text.includes("begun"), {
    state: () => JSON.stringify(text),
    change: async signal => {
      text += String((await once(socket, "data", { signal }))[0])
    },
  })
  return socket
}

const caller = issuing.issue()

beforeEach(async () => {
  for (const server of [http, tcp]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  path = new LocalDataPath({ mesh: "merlon", limits: { ...DEFAULT_LIMITS, drainTimeoutMs: 1 }, accessLog: "off" })
  await trust(root, other)
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await path.drain()
  http.closeAllConnections()
  for (const server of [http, tcp]) server.close()
})

it.each([
  ["a request", 0],
  ["a tunnel", 1],
] as const)("%s continues when another root is removed, and ends with its own", async (_, which) => {
  const socket = await opened(which)
  const gone = once(socket, "close")
  await trust(root)
  expect(await ended()).toBe(0)
  await trust(root, other)
  await trust(other)
  await gone
  expect(await ended()).toBe(1)
})

it("so does a connection that resumed an earlier session", async () => {
  const first = connect({
    host: "127.0.0.1",
    port: path.addresses()[0]?.port ?? 0,
    cert: caller.certificate + issuing.certificate,
    key: caller.privateKey,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  })
  sockets.push(first.on("error", () => undefined).resume())
  const [session] = await once(first, "session")
  const socket = await opened(0, session)
  expect(socket.isSessionReused()).toBe(true)
  await trust(root)
  expect(await ended()).toBe(0)
})

it("each connection keeps the chain of its own handshake", async () => {
  // The superfluous certificate of another root does not confuse OpenSSL.
  await opened(0, undefined, other.certificate + issuing.certificate)
  await opened(0)
  await trust(root)
  expect(await ended()).toBe(1)
})
