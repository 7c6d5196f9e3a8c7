// SPDX-License-Identifier: Apache-2.0
// Callers over IPv4 and IPv6 through one listener, and applications that listen on only one address.
import { once } from "node:events"
import { createServer as createHttp } from "node:http"
import { createServer as createHttp2 } from "node:http2"
import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { afterEach, describe, expect, it } from "vitest"
import { probeApplication } from "../admin/probe-application.js"
import type { ApplicationPort, UpstreamAddress } from "../config/application-port.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

/** Another loopback address, in place of a Pod's own address. */
const POD_IP = "127.0.0.9"
const opened: { close(): unknown }[] = []
const LIMITS = { ...DEFAULT_LIMITS, drainTimeoutMs: 1 }
/**
 * The time for first bytes delays clients that wait for the server to speak first. An HTTP client that needs longer on
 * a busy machine would be rejected.
 */
const TCP_LIMITS = { ...LIMITS, sniffTimeoutMs: 100 }
let path: LocalDataPath
afterEach(async () => {
  await path?.drain()
  for (const server of opened.splice(0)) server.close()
})

async function portOf(server: Server | ReturnType<typeof createHttp2>, host: string): Promise<number> {
  opened.push(server)
  server.listen(0, host)
  await once(server, "listening")
  return (server.address() as AddressInfo).port // a TCP server has an AddressInfo
}

async function start(port: Partial<ApplicationPort>, ...policies: readonly PolicyDocument[]): Promise<number> {
  const limits = port.protocol === "tcp" ? TCP_LIMITS : LIMITS
  path = new LocalDataPath({ mesh: "merlon", limits, accessLog: "off" })
  await path.apply({
    revision: 1,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels: {} },
    ports: [
      {
        port: 8080,
        listen: { host: "::", port: 0 },
        upstream: { host: "127.0.0.1", port: 1 },
        protocol: "http",
        upstreamProtocol: "http/1.1",
        serviceNames: [],
        ...port,
      },
    ],
    policies,
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  })
  return path.addresses()[0]?.port ?? 0
}

const status = async (host: string, port: number) =>
  (await fetch(`http://${host}:${port}/`, { headers: { connection: "close" } })).status

describe("a listener on `::`", () => {
  const CALLERS = [
    ["127.0.0.1", "127.0.0.1", "127.0.0.0/8"],
    ["[::1]", "::1", "::1/128"],
  ] as const
  const denies = (ipBlock: string): PolicyDocument => ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "p", namespace: "foo" },
    spec: { action: "DENY", rules: [{ from: [{ source: { ipBlocks: [ipBlock] } }] }] },
  })

  it.each(CALLERS)("denies callers from %s by their own address, and no others", async (host, source, ipBlock) => {
    const http = await portOf(
      createHttp((_, reply) => reply.end("ok")),
      "127.0.0.1",
    )
    const port = await start({ upstream: { host: "127.0.0.1", port: http } }, denies(ipBlock))
    expect(await status(host, port)).toBe(403)
    expect((await path.decisions())[0]).toMatchObject({ verdict: "deny", source })
    const [other = ""] = CALLERS.map(([name]) => name).filter(name => name !== host)
    expect(await status(other, port)).toBe(200)
  })

  it.each(CALLERS)("tells the application that %s called", async (host, source) => {
    const http = await portOf(
      createHttp(({ headers }, reply) => reply.end(headers["x-forwarded-for"])),
      "127.0.0.1",
    )
    const port = await start({ upstream: { host: "127.0.0.1", port: http } })
    expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe(source)
  })
})

describe.each(["127.0.0.1", "::1", POD_IP])("an application that listens on %s only", listening => {
  const at = (port: number): UpstreamAddress => ({ host: "127.0.0.1", port, fallback: ["::1", POD_IP] })

  it("is reached over HTTP/1.1", async () => {
    const http = await portOf(
      createHttp((_, reply) => reply.end("ok")),
      listening,
    )
    expect(await status("127.0.0.1", await start({ upstream: at(http) }))).toBe(200)
  })

  it("is reached over HTTP/2", async () => {
    const http2 = await portOf(
      createHttp2((_, reply) => reply.end("ok")),
      listening,
    )
    expect(await status("127.0.0.1", await start({ upstream: at(http2), upstreamProtocol: "h2c" }))).toBe(200)
  })

  it("is reached over TCP", async () => {
    const tcp = await portOf(
      createServer(socket => socket.end("hello")),
      listening,
    )
    const socket = connect({ host: "127.0.0.1", port: await start({ upstream: at(tcp), protocol: "tcp" }) })
    expect(String((await once(socket, "data"))[0])).toBe("hello")
    await once(socket, "close")
  })

  it.each(["http", "tcp"] as const)("answers probes of kind %s", async kind => {
    const http = await portOf(
      createHttp((_, reply) => reply.end("ok")),
      listening,
    )
    expect(await probeApplication({ kind, port: http, path: "/", headers: {}, timeoutMs: 5_000 }, at(http))).toBe(200)
  })
})

it("answers 503 if the application listens nowhere", async () => {
  const server = createServer()
  const free = await portOf(server, "127.0.0.1")
  server.close()
  expect(await status("[::1]", await start({ upstream: { host: "127.0.0.1", port: free, fallback: ["::1"] } }))).toBe(
    503,
  )
})
