// SPDX-License-Identifier: Apache-2.0
import { connect as connectHttp2 } from "node:http2"
import { connect as connectTcp, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { create } from "@bufbuild/protobuf"
import { afterEach, describe, expect, it, vi } from "vitest"
import { DeltaDiscoveryRequestSchema } from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { SignCertificateRequestSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { RawClient } from "../testing/raw-client.js"
import { type ServerRig, serverRig } from "../testing/server-rig.js"
import { SERVER_NAME } from "../testing/test-authority.js"
import { deltaAggregatedResources, signCertificate } from "../wire/methods.js"
import type { ServerLimits } from "./limits.js"

const TYPE = "type.googleapis.com/test.Thing"
const PATIENCE = { timeout: 90_000, interval: 5 }
const closing: (() => unknown)[] = []

async function start(limits: Partial<ServerLimits>): Promise<ServerRig> {
  const rig = await serverRig({ limits })
  closing.push(() => rig.server.close())
  return rig
}

function connect(rig: ServerRig, token: string | undefined = "good:orders-1"): RawClient {
  const client = new RawClient({ address: rig.address, bundle: rig.authority.bundle, token })
  closing.unshift(() => client.client.close())
  return client
}

const ended = (socket: Socket) =>
  new Promise<void>(resolve => {
    socket.on("error", () => {})
    socket.once("close", () => resolve())
    socket.resume()
  })

async function stillServes(rig: ServerRig): Promise<void> {
  const stream = connect(rig).delta()
  stream.send({ node: { id: "shop/other" }, typeUrl: TYPE })
  await stream.response(0)
}

async function answeredOrEnded(stream: ReturnType<RawClient["delta"]>): Promise<void> {
  const isOver = () => stream.responses.length > 0 || stream.end !== undefined
  await vi.waitFor(() => expect(isOver(), "the stream is answered or ended").toBe(true), PATIENCE)
}

/** Retries: on a busy machine the short timeouts for hostile clients may also hit other clients, which reconnect. */
async function servesReconnectingClients(rig: ServerRig): Promise<void> {
  const deadline = performance.now() + PATIENCE.timeout
  while (performance.now() < deadline) {
    const stream = connect(rig).delta()
    stream.send({ node: { id: "shop/other" }, typeUrl: TYPE })
    await answeredOrEnded(stream)
    if (stream.responses.length > 0) return
    expect(stream.end).toMatch(/^(UNAVAILABLE|DEADLINE_EXCEEDED)/)
  }
  expect.unreachable(`no stream of a client that came again was answered within ${PATIENCE.timeout / 1000} s`)
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe("a hostile client is disconnected, and others are served, when it", () => {
  it("sends more requests than are reasonable", async () => {
    const rig = await start({ requestBurst: 5, requestsPerSecond: 1 })
    const stream = connect(rig).delta()
    for (let index = 0; index < 20; index += 1) stream.send({ typeUrl: TYPE, resourceNamesSubscribe: [`n${index}`] })
    expect(await stream.ended()).toBe("RESOURCE_EXHAUSTED: too many requests on one stream; slow down")
    await stillServes(rig)
  })

  it("sends too much metadata", async () => {
    const rig = await start({})
    const stream = connect(rig).delta()
    stream.send({ node: { id: "shop/orders-1", metadata: { x: Array(20_000).fill("word") } }, typeUrl: TYPE })
    expect(await stream.ended()).toMatch(/^INVALID_ARGUMENT: `node.metadata` has more than 65536 characters/)
    await stillServes(rig)
  })

  it("subscribes to too many names", async () => {
    const rig = await start({ namesPerType: 10 })
    const stream = connect(rig).delta()
    stream.send({ typeUrl: TYPE, resourceNamesSubscribe: Array.from({ length: 20 }, (_, index) => `n${index}`) })
    expect(await stream.ended()).toMatch(/^RESOURCE_EXHAUSTED: at most 10 names/)
    await stillServes(rig)
  })

  it("sends a message that is too large", async () => {
    const rig = await start({ messageBytes: 1_000 })
    const stream = connect(rig).delta()
    stream.send({ typeUrl: TYPE, resourceNamesSubscribe: ["x".repeat(5_000)] })
    expect(await stream.ended()).toMatch(/^RESOURCE_EXHAUSTED/)
    await stillServes(rig)
  })

  it.each([
    ["bad", /^UNAUTHENTICATED/],
    ["good:orders-1", /^RESOURCE_EXHAUSTED/],
  ])("sends too large a request with the token `%s`, which is not read before authentication", async (token, says) => {
    const rig = await start({ messageBytes: 1_000 })
    const signingRequest = new Uint8Array(5_000)
    const asked = connect(rig, token).unary(signCertificate, create(SignCertificateRequestSchema, { signingRequest }))
    await expect(asked).rejects.toThrow(says)
    await stillServes(rig)
  })

  it("sends bytes that are not a message", async () => {
    const rig = await start({})
    const { client, metadata } = connect(rig)
    const { path } = deltaAggregatedResources
    const call = client.makeBidiStreamRequest<Buffer, Buffer>(
      path,
      bytes => bytes,
      bytes => bytes,
      metadata,
    )
    call.write(Buffer.from([0xff, 0xff, 0xff]))
    await new Promise(resolve => call.once("error", resolve))
    await stillServes(rig)
  })

  it("opens a stream and sends nothing", async () => {
    const rig = await start({ firstRequestMs: 500 })
    const stream = connect(rig).delta()
    expect(await stream.ended()).toBe("DEADLINE_EXCEEDED: no request arrived on the stream")
    await servesReconnectingClients(rig)
  })

  it("opens too many streams on one connection", async () => {
    const rig = await start({ streamsPerConnection: 2 })
    const client = connect(rig)
    const streams = Array.from({ length: 3 }, () => client.delta())
    for (const stream of streams) stream.send({ node: { id: "shop/x" }, typeUrl: TYPE })
    await expect.poll(() => streams.filter(({ responses }) => responses.length > 0)).toHaveLength(2)
    await stillServes(rig)
    expect(rig.source.opened).toHaveLength(3)
  })

  it("opens too many streams over several connections", async () => {
    const rig = await start({ streamsPerCaller: 2 })
    const streams = [connect(rig).delta(), connect(rig).delta()]
    for (const stream of streams) stream.send({ node: { id: "shop/x" }, typeUrl: TYPE })
    for (const stream of streams) await stream.response(0)
    const third = connect(rig).delta()
    third.send({ node: { id: "shop/x" }, typeUrl: TYPE })
    expect(await third.ended()).toBe("RESOURCE_EXHAUSTED: at most 2 streams per caller")
    streams[0]?.call.cancel()
    await expect.poll(() => rig.source.closed).toBe(1)
    await stillServes(rig)
  })

  it("subscribes to too much over several streams", async () => {
    const rig = await start({ subscriptionBytesPerCaller: 100_000 })
    const names = Array.from({ length: 50 }, (_, n) => `${"x".repeat(500)}${n}`)
    const [first, second] = [connect(rig).delta(), connect(rig).delta()]
    const third = connect(rig).sotw()
    first?.send({ node: { id: "shop/x" }, typeUrl: TYPE, resourceNamesSubscribe: names })
    await first?.response(0)
    second?.send({ node: { id: "shop/x" }, typeUrl: TYPE, resourceNamesSubscribe: names })
    expect(await second?.ended()).toMatch(/^RESOURCE_EXHAUSTED: the subscriptions of one caller/)
    third.send({ node: { id: "shop/x" }, typeUrl: TYPE, resourceNames: names })
    expect(await third.ended()).toMatch(/^RESOURCE_EXHAUSTED: the subscriptions of one caller/)
    // What one stream releases is available to the next.
    first?.send({ typeUrl: TYPE, resourceNamesUnsubscribe: names })
    await vi.waitFor(async () => {
      const again = connect(rig).delta()
      again.send({ node: { id: "shop/x" }, typeUrl: TYPE, resourceNamesSubscribe: names.slice(0, 25) })
      await answeredOrEnded(again)
      expect(again.end).toBeUndefined()
    }, PATIENCE)
    await stillServes(rig)
  })

  it("never starts the handshake", async () => {
    const rig = await start({ handshakeMs: 1_000 })
    await ended(connectTcp(rig.server.port, "127.0.0.1"))
    await servesReconnectingClients(rig)
  })

  it("does not use HTTP/2", async () => {
    const rig = await start({})
    const options = { port: rig.server.port, host: "127.0.0.1", ca: rig.authority.bundle, servername: SERVER_NAME }
    await ended(connectTls(options))
    await stillServes(rig)
  })

  it("uses an old TLS version", async () => {
    const rig = await start({})
    const options = { port: rig.server.port, host: "127.0.0.1", ca: rig.authority.bundle, servername: SERVER_NAME }
    await ended(connectTls({ ...options, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }))
    await stillServes(rig)
  })

  it("makes us verify too many tokens", async () => {
    const rig = await start({ pendingProofs: 1, waitingProofs: 0 })
    rig.state.tokens = "hanging"
    connect(rig).delta().send({ typeUrl: TYPE })
    const second = connect(rig).delta()
    const third = connect(rig).delta()
    for (const stream of [second, third]) stream.send({ typeUrl: TYPE })
    expect(await Promise.race([second.ended(), third.ended()])).toMatch(/^RESOURCE_EXHAUSTED: too many tokens/)
  })

  it("reads no responses", async () => {
    const rig = await start({ writeMs: 500, ackDeadlineMs: 10 })
    rig.source.set(TYPE, "large", "1", new Uint8Array(1024 * 1024))
    const session = connectHttp2(`https://${rig.address}`, {
      ca: rig.authority.bundle,
      servername: SERVER_NAME,
      settings: { initialWindowSize: 1_024 },
    })
    closing.unshift(() => session.destroy())
    session.on("error", () => {})
    const request = session.request({
      ":method": "POST",
      ":path": deltaAggregatedResources.path,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: "Bearer good:orders-1",
    })
    request.on("error", () => {})
    const message = deltaAggregatedResources.requestSerialize(create(DeltaDiscoveryRequestSchema, { typeUrl: TYPE }))
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(message.length, 1)
    // The request is not read, so its window of 1 KiB is never extended.
    request.write(Buffer.concat([prefix, message]))
    await expect.poll(() => rig.source.opened.length).toBe(1)
    await expect.poll(() => rig.source.closed).toBe(1)
    rig.source.set(TYPE, "large", undefined)
    await stillServes(rig)
  })
})

it("accepts no more connections than the limit", async () => {
  const rig = await start({ connections: 1 })
  const first = connect(rig).delta()
  first.send({ node: { id: "shop/x" }, typeUrl: TYPE })
  await first.response(0)
  const second = connect(rig).delta()
  second.send({ node: { id: "shop/y" }, typeUrl: TYPE })
  expect(await second.ended()).toMatch(/^UNAVAILABLE/)
  expect(first.end).toBeUndefined()
})
