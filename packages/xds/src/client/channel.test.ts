// SPDX-License-Identifier: Apache-2.0
// Which server a client connects to, at which address, and what it does if the server goes away.

import { once } from "node:events"
import { createServer, connect as relayTo } from "node:net"
import type { TlsOptions } from "node:tls"
import { create } from "@bufbuild/protobuf"
import { type handleBidiStreamingCall, Server, ServerCredentials } from "@grpc/grpc-js"
import { goawayText } from "@merlon/wire"
import { afterEach, describe, expect, it, test, vi } from "vitest"
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { serverRig } from "../testing/server-rig.js"
import { TestAuthority, type TestCredentials } from "../testing/test-authority.js"
import { deltaAggregatedResources } from "../wire/methods.js"
import { clientRig, TYPE } from "./testing/client-rig.js"
import { rawControlPlane } from "./testing/raw-control-plane.js"

const closing: (() => unknown)[] = []
const until = (check: () => void) => vi.waitFor(check, { timeout: 90_000, interval: 5 })

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

async function raw(answer: Parameters<typeof rawControlPlane>[0] = () => undefined, tls: TlsOptions = {}) {
  const plane = await rawControlPlane(answer, tls)
  closing.push(() => plane.close())
  return plane
}

function started(options: Parameters<typeof clientRig>[0]) {
  const rig = clientRig(options)
  closing.unshift(() => rig.client.close())
  rig.client.start()
  return rig
}

describe("a control plane that does not prove its identity", () => {
  test.each<[string, (own: TestAuthority) => TestCredentials, TlsOptions, RegExp]>([
    ["has a certificate from another authority", () => new TestAuthority().server(), {}, /unable to (verify|get)/],
    ["has another name", own => own.server("somebody.else.test"), {}, /does not match certificate's altnames/],
    ["does not offer HTTP/2", own => own.server(), { ALPNProtocols: ["http/1.1"] }, /alert/],
    ["selects no protocol", own => own.server(), { ALPNProtocols: [] }, /does not support HTTP\/2/],
  ])("%s and receives nothing, regardless of environment variables", async (_, shown, tls, why) => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0")
    const own = new TestAuthority()
    const { chain, privateKey } = shown(own)
    const plane = await raw(() => undefined, { cert: chain, key: privateKey, ...tls })
    const each = started({ address: plane.address, bundle: own.bundle })
    await until(() => expect(each.logged.length).toBeGreaterThan(2))
    expect(String(Object.entries(each.logged[0]?.fields ?? {}))).toMatch(why)
    await expect(each.client.signCertificate(new Uint8Array(5))).rejects.toMatchObject({ code: "UNAVAILABLE" })
    expect(plane.received.join("")).toBe("")
  })
})

describe("an address", () => {
  test.each<[string, (port: number) => string, string]>([
    ["with IPv4", port => `127.0.0.1:${port}`, "127.0.0.1"],
    ["with IPv6", port => `[::1]:${port}`, "::1"],
    ["that is a name with several addresses, of which the last answers", port => `localhost:${port}`, "127.0.0.1"],
  ])("%s is connected to", async (_, address, host) => {
    const rig = await serverRig()
    closing.push(() => rig.server.close())
    // The server listens on IPv4; data for other addresses is relayed to it.
    const relay = createServer(near => {
      const far = relayTo(rig.server.port)
      near.on("error", () => far.destroy()).pipe(far)
      far.on("error", () => near.destroy()).pipe(near)
    })
    relay.listen(0, host)
    await once(relay, "listening")
    closing.push(() => relay.close())
    const listening = relay.address()
    const port = typeof listening === "object" && listening !== null ? listening.port : 0
    const each = started({ address: address(port), bundle: rig.authority.bundle })
    await until(() => expect(each.client.connected).toBe(true))
  })

  it.each(["control", "control:0", "control:70000", "::1:15012", "a b:1"])("%s is rejected", async address => {
    const { client } = clientRig({ address, bundle: new TestAuthority().bundle })
    await expect(client.signCertificate(new Uint8Array(5))).rejects.toThrow(/must have the form HOST:PORT/)
  })

  it("without a server reports the addresses that were tried", async () => {
    const { client } = clientRig({ address: "localhost:1", bundle: new TestAuthority().bundle })
    await expect(client.signCertificate(new Uint8Array(5))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^no connection to localhost:1: connect ECONNREFUSED .*:1/),
    })
  })
})

describe("a call", () => {
  it("that times out is reported, and closes the connection", async () => {
    let gone: Promise<unknown> | undefined
    const plane = await raw(({ socket }) => {
      gone = once(socket, "close")
    })
    const { client } = clientRig({ address: plane.address, bundle: plane.authority.bundle, limits: { callMs: 300 } })
    await expect(client.signCertificate(new Uint8Array(5))).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
      message: "no response within 300 ms",
    })
    await gone
  })

  it("with an invalid token is not made", async () => {
    const plane = await raw()
    const proof = { token: "one\r\ntwo" }
    const { client } = clientRig({ address: plane.address, bundle: plane.authority.bundle, proof })
    await expect(client.signCertificate(new Uint8Array(5))).rejects.toThrow(/token contains invalid characters/)
    expect(plane.received).toEqual([])
  })
})

it("moves to another connection on GOAWAY, even if its stream could stay", async () => {
  const plane = await raw(({ send }) => send(goawayText(1, 0, "")))
  const each = started({ address: plane.address, bundle: plane.authority.bundle })
  await until(() => expect(plane.received.length).toBeGreaterThan(1))
  expect(each.logged[0]?.fields).toMatchObject({ why: "UNAVAILABLE: the control plane is shutting down" })
})

it("works with a control plane on grpc-js", async () => {
  const authority = new TestAuthority()
  const { chain, privateKey } = authority.server()
  const server = new Server()
  const asked: DeltaDiscoveryRequest[] = []
  const serve: handleBidiStreamingCall<DeltaDiscoveryRequest, DeltaDiscoveryResponse> = call => {
    call.on("error", () => undefined)
    call.on("data", request => {
      asked.push(request)
      if (asked.length > 1) return
      const resource = (index: number) => ({
        name: `n${index}`,
        version: "1",
        resource: { typeUrl: TYPE, value: Buffer.alloc(2_000, index) },
      })
      const resources = [...Array(1_000).keys()].map(resource)
      call.write(create(DeltaDiscoveryResponseSchema, { typeUrl: TYPE, nonce: "1", resources }))
    })
  }
  const definition = { ...deltaAggregatedResources, requestStream: true, responseStream: true }
  server.addService({ delta: definition }, { delta: serve })
  const credentials = ServerCredentials.createSsl(null, [
    { cert_chain: Buffer.from(chain), private_key: Buffer.from(privateKey) },
  ])
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  closing.push(() => server.forceShutdown())
  const each = started({ address: `127.0.0.1:${port}`, bundle: authority.bundle })
  await until(() => expect(each.held.size).toBe(1_000))
  await until(() => expect(asked).toMatchObject([{ typeUrl: TYPE }, { responseNonce: "1" }]))
})
