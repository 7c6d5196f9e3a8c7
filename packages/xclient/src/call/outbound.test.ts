// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import type { HostRoutesSpec, ServiceEndpoint } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Destinations } from "../balance/destination.js"
import { EndpointHealth } from "../balance/endpoint-health.js"
import type { Material } from "../connect/material.js"
import { RequestCalls } from "../http/request-calls.js"
import { HostRouting } from "../routes/host-routing.js"
import { newAuthority, TestMesh, WEB_HOST } from "../testing/mesh.js"
import { Outbound } from "./outbound.js"

const REQUEST = { method: "GET", target: "/hello", headers: new Map([["host", WEB_HOST]]) }
const IN_TURN = { traffic: { loadBalancer: "ROUND_ROBIN" } } as const

let mesh: TestMesh
let material: Material
let requests: RequestCalls
let health: EndpointHealth
let outbound: Outbound

beforeEach(() => {
  mesh = new TestMesh()
  material = { id: 1, credentials: mesh.credentials(), trust: mesh.trust }
  // The clock is fixed, so that a skipped endpoint stays skipped, however slow the machine is.
  health = new EndpointHealth(() => 0)
  const options = { health, material: () => material, connectTimeoutMs: 60_000 }
  requests = new RequestCalls({ ...options, mesh: "merlon" })
  outbound = new Outbound({ ...options, tunnelAlpn: ["merlon"] })
})
afterEach(async () => {
  requests.close()
  await mesh.close()
})

function routing(spec: HostRoutesSpec): HostRouting {
  return new HostRouting(spec, health)
}

async function call(routes: HostRouting): Promise<string> {
  const { body } = await requests.send(routes, REQUEST, 60_000)
  return body
}

describe("over mutual TLS", () => {
  it("presents our certificate, requests the service by name and speaks the mesh's protocol", async () => {
    const web = await mesh.server("v1")
    const routes = routing(
      mesh.routes([{ subset: "v1", endpoints: [web.endpoint], cluster: { tlsMode: "DUBBO_MUTUAL" } }]),
    )
    expect(await call(routes)).toBe("v1 GET /hello")
    expect(web.seen[0]).toMatchObject({
      sni: WEB_HOST,
      alpn: "merlon-h2",
      client: "URI:spiffe://cluster.local/ns/app/sa/consumer",
    })
  })

  it("is used automatically if the server accepts it", async () => {
    const web = await mesh.server("v1", { mtlsMode: "PERMISSIVE" })
    expect(await call(routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }])))).toBe("v1 GET /hello")
    expect(web.seen[0]?.client).toContain("consumer")
  })

  it("reuses a connection", async () => {
    const web = await mesh.server("v1")
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await call(routes)
    await call(routes)
    expect(new Set(web.seen.map(({ connection }) => connection)).size).toBe(1)
  })

  it("does not reuse a connection of other credentials", async () => {
    const web = await mesh.server("v1")
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await call(routes)
    material = { ...material, id: 2, credentials: mesh.credentials("spiffe://cluster.local/ns/app/sa/renewed") }
    await call(routes)
    expect(web.seen.map(({ client }) => client)).toEqual([
      "URI:spiffe://cluster.local/ns/app/sa/consumer",
      "URI:spiffe://cluster.local/ns/app/sa/renewed",
    ])
  })
})

describe("an endpoint with several addresses", () => {
  it.each([
    ["IPv6 where IPv4 is refused", "127.0.0.9", "::1"],
    ["IPv4 where IPv6 is refused", "::1", "127.0.0.1"],
  ])("is reached by %s", async (_, rejected, address) => {
    for (const plaintext of [false, true]) {
      const web = await mesh.server("v1", { address, plaintext })
      const endpoint = { ...web.endpoint, address: rejected, otherAddresses: [address] }
      const routes = routing(mesh.routes([{ subset: "v1", endpoints: [endpoint] }]))
      expect(await call(routes)).toBe("v1 GET /hello")
      expect(health.isEjected(endpoint)).toBe(false)
    }
  })

  it("is skipped if none can be reached, and each is named", async () => {
    const web = await mesh.server("v1")
    const endpoint = { ...web.endpoint, address: "127.0.0.9", otherAddresses: ["::1"] }
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [endpoint] }]))
    await expect(call(routes)).rejects.toThrow(/127\.0\.0\.9:\d+; .*::1:\d+/)
    expect(health.isEjected(endpoint)).toBe(true)
  })
})

describe("an untrusted server gets no byte of the request", () => {
  const other = "spiffe://cluster.local/ns/app/sa/other"
  it.each<[string, () => Promise<{ endpoint: ServiceEndpoint; seen: readonly unknown[] }>, RegExp]>([
    [
      "another identity of the mesh",
      () => mesh.server("x", { identity: other }),
      /the server is `.*other`; expected `.*web`/,
    ],
    [
      "a stranger with the right name",
      () => mesh.server("x", { authority: newAuthority() }),
      /cannot connect to .*certificate/,
    ],
  ])("%s", async (_, start, reason) => {
    const { endpoint, seen } = await start()
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [endpoint] }]))
    await expect(call(routes)).rejects.toThrow(reason)
    expect(seen).toEqual([])
  })

  it("whose identity was revoked", async () => {
    const web = await mesh.server("v1")
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await call(routes)
    const trust = { ...mesh.trust, revokedIdentities: ["spiffe://cluster.local/ns/app/sa/web"] }
    material = { ...material, id: 2, trust }
    await expect(call(routes)).rejects.toThrow(/is revoked/)
    expect(web.seen).toHaveLength(1)
  })

  it("which is no longer expected after a change of routes, although a connection is open", async () => {
    const web = await mesh.server("v1")
    const destination = { subset: "v1", endpoints: [web.endpoint] }
    const routes = routing(mesh.routes([destination]))
    await call(routes)
    routes.update(mesh.routes([{ ...destination, cluster: { identities: [other] } }]))
    await expect(call(routes)).rejects.toThrow(/expected `.*other`/)
  })

  it("which speaks no TLS", async () => {
    const web = await mesh.server("v1", { plaintext: true, mtlsMode: "STRICT" })
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await expect(call(routes)).rejects.toThrow(/cannot connect/)
    expect(web.seen).toEqual([])
  })

  it("if there is no trusted root CA", async () => {
    const web = await mesh.server("v1")
    material = { ...material, trust: { ...mesh.trust, bundle: "" } }
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await expect(call(routes)).rejects.toThrow(/no trusted root CA/)
  })
})

describe("without credentials", () => {
  it("a plaintext server is called", async () => {
    material = { ...material, credentials: undefined }
    const web = await mesh.server("v1", { plaintext: true })
    expect(await call(routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }])))).toBe("v1 GET /hello")
  })

  it("a PERMISSIVE server is not called in plaintext", async () => {
    material = { ...material, credentials: undefined }
    const web = await mesh.server("v1", { plaintext: true, mtlsMode: "PERMISSIVE" })
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
    await expect(call(routes)).rejects.toThrow(/no valid certificate/)
    expect(web.seen).toEqual([])
  })
})

describe("balance", () => {
  it("splits calls by weight, exactly", async () => {
    const [v1, v2] = [await mesh.server("v1"), await mesh.server("v2")]
    const routes = routing(
      mesh.routes([
        { subset: "v1", weight: 30, endpoints: [v1.endpoint] },
        { subset: "v2", weight: 10, endpoints: [v2.endpoint] },
      ]),
    )
    for (let index = 0; index < 8; index++) await call(routes)
    expect([v1.seen.length, v2.seen.length]).toEqual([6, 2])
  })

  it("follows a change of weights with the next call", async () => {
    const [v1, v2] = [await mesh.server("v1"), await mesh.server("v2")]
    const split = (first: number, second: number) =>
      mesh.routes([
        { subset: "v1", weight: first, endpoints: [v1.endpoint] },
        { subset: "v2", weight: second, endpoints: [v2.endpoint] },
      ])
    const routes = routing(split(100, 0))
    for (let index = 0; index < 3; index++) await call(routes)
    routes.update(split(0, 100))
    for (let index = 0; index < 3; index++) await call(routes)
    expect([v1.seen.length, v2.seen.length]).toEqual([3, 3])
  })

  it("uses round robin if the destination asks for it", async () => {
    const [a, b] = [await mesh.server("a"), await mesh.server("b")]
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [a.endpoint, b.endpoint], cluster: IN_TURN }]))
    for (let index = 0; index < 4; index++) await call(routes)
    expect([a.seen.length, b.seen.length]).toEqual([2, 2])
  })

  it("tries the next endpoint if one cannot be reached, and skips that one", async () => {
    const web = await mesh.server("v1")
    const dead = { ...web.endpoint, port: await unusedPort() }
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [dead, web.endpoint], cluster: IN_TURN }]))
    for (let index = 0; index < 3; index++) await call(routes)
    expect(web.seen).toHaveLength(3)
    expect(health.isEjected(dead)).toBe(true)
  })

  it("reports the reason if none can be reached", async () => {
    const web = await mesh.server("v1", { healthy: false })
    const dead = { ...web.endpoint, port: await unusedPort() }
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [dead] }]))
    await expect(call(routes)).rejects.toThrow(/cannot connect to .*ECONNREFUSED.*no endpoint is healthy/)
  })

  it("fails without endpoints", async () => {
    await expect(call(routing(mesh.routes([{ subset: "v1", endpoints: [] }])))).rejects.toThrow("`v1` has no endpoints")
  })

  it("fails if no route takes the call", async () => {
    const web = await mesh.server("v1")
    const spec = mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }])
    const [cluster] = spec.clusters.map(({ name }) => name)
    const route = { match: [{ uri: { prefix: "/only" } }], destinations: [{ cluster: cluster ?? "", weight: 1 }] }
    const routes = routing({ ...spec, table: { ...spec.table, routes: [route] } })
    await expect(call(routes)).rejects.toThrow(/no route of .* matches GET \/hello/)
    await expect(outbound.tunnel(routes)).rejects.toThrow(/which a tunnel requires/)
  })
})

it("a response that never comes because the server disconnects is a failure", async () => {
  const web = await mesh.server("v1", { answer: request => request.socket.destroy() })
  const routes = routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }]))
  await expect(call(routes)).rejects.toMatchObject({ code: "cut-off" })
})

it("opens no more tunnels to a destination than its MeshService allows", async () => {
  const web = await mesh.server("v1")
  const cluster = { traffic: { connectionPool: { maxConnections: 1 } } }
  const spec = mesh.routes([{ subset: "v1", endpoints: [web.endpoint], cluster }])
  const routes = new HostRouting(spec, health, new Destinations())
  const { socket } = await outbound.tunnel(routes)
  await expect(outbound.tunnel(routes)).rejects.toMatchObject({ code: "overflow", status: 503 })
  socket.destroy()
  await once(socket, "close")
  const again = await outbound.tunnel(routes)
  again.socket.destroy()
})

it("counts no tunnel that could not be opened", async () => {
  const gone = { address: "127.0.0.1", port: 9, healthy: true, workload: "app/gone", mtlsMode: undefined }
  const cluster = { traffic: { connectionPool: { maxConnections: 1 } } }
  const spec = mesh.routes([{ subset: "v1", endpoints: [gone], cluster }])
  const routes = new HostRouting(spec, health, new Destinations())
  for (let round = 0; round < 3; round++)
    await expect(outbound.tunnel(routes)).rejects.toMatchObject({ code: "unreachable" })
})

it("a tunnel ends when its server is revoked, and not when another one is", async () => {
  const web = await mesh.server("v1")
  const { socket } = await outbound.tunnel(routing(mesh.routes([{ subset: "v1", endpoints: [web.endpoint] }])))
  outbound.trustChanged({ ...mesh.trust, revokedIdentities: ["spiffe://cluster.local/ns/app/sa/other"] })
  expect(socket.destroyed).toBe(false)
  outbound.trustChanged({ ...mesh.trust, revokedIdentities: ["spiffe://cluster.local/ns/app/sa/web"] })
  expect(socket.destroyed).toBe(true)
})

describe("a kept connection that the server closes as it is used", () => {
  /** Responds once on each connection and breaks it at the second request. */
  async function breakingServer() {
    const known = new WeakSet<object>()
    return mesh.server("v1", {
      plaintext: true,
      answer: (request, response) => {
        if (known.has(request.socket)) request.socket.destroy()
        else response.end("once")
        known.add(request.socket)
      },
    })
  }

  async function send(routes: HostRouting, method: string): Promise<number> {
    return (await requests.send(routes, { ...REQUEST, method }, 60_000)).status
  }

  it("is no failure if the request may be repeated, and counts once for the weights", async () => {
    const [server, other] = [await breakingServer(), await mesh.server("v2")]
    const routes = routing(
      mesh.routes([
        { subset: "v1", endpoints: [server.endpoint] },
        { subset: "v2", endpoints: [other.endpoint] },
      ]),
    )
    for (let index = 0; index < 4; index++) expect(await send(routes, "GET")).toBe(200)
    expect(other.seen).toHaveLength(2)
  })

  it("is a failure if it may not", async () => {
    const server = await breakingServer()
    const routes = routing(mesh.routes([{ subset: "v1", endpoints: [server.endpoint] }]))
    expect(await send(routes, "POST")).toBe(200)
    await expect(send(routes, "POST")).rejects.toMatchObject({ code: "cut-off" })
    expect(server.seen).toHaveLength(2)
  })
})

it("a server that never finishes its handshake times out", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1")
  await once(silent, "listening")
  const { port } = silent.address() as AddressInfo // it listens on TCP
  const endpoint: ServiceEndpoint = { address: "127.0.0.1", port, healthy: true, workload: "x", mtlsMode: "STRICT" }
  const options = { health, material: () => material, connectTimeoutMs: 50 }
  requests = new RequestCalls({ ...options, mesh: "merlon" })
  outbound = new Outbound({ ...options, tunnelAlpn: [] })
  const routes = routing(mesh.routes([{ subset: "v1", endpoints: [endpoint] }]))
  await expect(call(routes)).rejects.toThrow(/took too long to connect/)
  await expect(outbound.tunnel(routes)).rejects.toThrow(/within 50 ms/)
  silent.close()
})

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // it listens on TCP
  server.close()
  await once(server, "close")
  return port
}
