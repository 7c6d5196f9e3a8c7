// SPDX-License-Identifier: Apache-2.0
// gRPC through the proxy with the client and the server of @grpc/grpc-js: unary calls, streams, deadlines, metadata,
// and rejections as a gRPC client expects them.

import { setTimeout as sleep } from "node:timers/promises"
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js"
import { connectTcp, Http2Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it } from "vitest"
import { Authority, GOOD_ID } from "../accept/testing/certificates.js"
import { authorization, type Rig, type RigOptions, startRig } from "../accept/testing/rig.js"
import { forwardTo } from "../http/exchange.js"
import { serveHttp2 } from "./serve.js"

const authority = new Authority()
const bytes = { serialize: (text: string) => Buffer.from(text), deserialize: (buffer: Buffer) => buffer.toString() }
const codec = {
  requestSerialize: bytes.serialize,
  requestDeserialize: bytes.deserialize,
  responseSerialize: bytes.serialize,
  responseDeserialize: bytes.deserialize,
}
const service = {
  say: { path: "/test.Echo/Say", requestStream: false, responseStream: false, ...codec },
  fail: { path: "/test.Echo/Fail", requestStream: false, responseStream: false, ...codec },
  never: { path: "/test.Echo/Never", requestStream: false, responseStream: false, ...codec },
  chat: { path: "/test.Echo/Chat", requestStream: true, responseStream: true, ...codec },
} satisfies ServiceDefinition

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(
  options: RigOptions = {},
): Promise<{ rig: Rig; client: Client; seen: Metadata[]; cancelled: Promise<void> }> {
  const seen: Metadata[] = []
  let cancel = (): void => undefined
  const cancelled = new Promise<void>(resolve => {
    cancel = resolve
  })
  const server = new Server()
  server.addService(service, {
    say: (
      call: { request: string; metadata: Metadata },
      reply: (error: null, value: string, trailer: Metadata) => void,
    ) => {
      seen.push(call.metadata)
      const trailer = new Metadata()
      trailer.set("x-trailer", "end")
      reply(null, `you said ${call.request}`, trailer)
    },
    fail: (_: unknown, reply: (error: Partial<ServiceError>) => void) => {
      reply({ code: status.FAILED_PRECONDITION, details: "not so: ü 100%" })
    },
    never: (call: { metadata: Metadata; on(event: "cancelled", listener: () => void): void }) => {
      seen.push(call.metadata)
      call.on("cancelled", cancel)
    },
    chat: (call: NodeJS.ReadWriteStream) => {
      call.on("data", (text: string) => (call as NodeJS.WritableStream).write(`<${text}>`))
      call.on("end", () => call.end())
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  cleanups.push(() => server.forceShutdown())
  const address = { host: "127.0.0.1", port }
  const rig = await startRig({
    authority,
    ...options,
    handlers: ({ parts }) => {
      const deadlines = new Deadlines(parts.limits)
      const { limits, meters: observer } = parts
      const connect: Connect = how => connectTcp(address, limits.connectTimeoutMs, how)
      const upstream = new Http2Pool({ connect, limits, deadlines, observer })
      return {
        http2: serveHttp2(
          { ...parts, deadlines },
          forwardTo(() => upstream),
        ),
      }
    },
  })
  cleanups.push(() => rig.stop())
  const client = new Client(`127.0.0.1:${rig.port}`, credentials.createInsecure())
  cleanups.push(() => client.close())
  return { rig, client, seen, cancelled }
}

function unary(client: Client, path: string, text: string, deadline?: Date) {
  return new Promise<{ error: ServiceError | null; value: string | undefined; trailer: Metadata | undefined }>(
    resolve => {
      let trailer: Metadata | undefined
      const options = deadline === undefined ? {} : { deadline }
      const call = client.makeUnaryRequest(path, bytes.serialize, bytes.deserialize, text, options, (error, value) =>
        setImmediate(() => resolve({ error, value, trailer })),
      )
      call.on("status", ({ metadata }) => {
        trailer = metadata
      })
    },
  )
}

it("carries a call with its metadata and trailers", async () => {
  const { client, seen, rig } = await start()
  const { error, value, trailer } = await unary(client, "/test.Echo/Say", "hello")
  expect(error).toBeNull()
  expect(value).toBe("you said hello")
  expect(trailer?.get("x-trailer")).toEqual(["end"])
  expect(seen[0]?.get("x-forwarded-proto")).toEqual(["http"])
  await rig.meters.until(meters => meters.records.length === 1)
  expect(rig.meters.records[0]).toMatchObject({ protocol: "h2", path: "/test.Echo/Say", status: 200 })
})

it("carries an error of the application, including its message", async () => {
  const { client } = await start()
  const { error } = await unary(client, "/test.Echo/Fail", "x")
  expect(error).toMatchObject({ code: status.FAILED_PRECONDITION, details: "not so: ü 100%" })
})

it("carries a bidirectional stream", async () => {
  const { client } = await start()
  const call = client.makeBidiStreamRequest("/test.Echo/Chat", bytes.serialize, bytes.deserialize)
  const answers: string[] = []
  for (const word of ["one", "two", "three"]) {
    call.write(word)
    answers.push(await new Promise<string>(resolve => call.once("data", resolve)))
  }
  expect(answers).toEqual(["<one>", "<two>", "<three>"])
  const end = new Promise(resolve => call.once("status", resolve))
  call.end()
  call.resume()
  expect(await end).toMatchObject({ code: status.OK })
})

it("ends an idle call, and continues others on the same connection", async () => {
  const { client, rig } = await start({ limits: { streamIdleTimeoutMs: 5_000 } })
  const chat = () => {
    const call = client.makeBidiStreamRequest("/test.Echo/Chat", bytes.serialize, bytes.deserialize)
    call.on("error", () => undefined)
    const ended = new Promise(resolve => call.once("status", resolve))
    const say = (word: string): Promise<string> => {
      call.write(word)
      return new Promise(resolve => call.once("data", resolve))
    }
    return { call, ended, say }
  }
  const [idle, busy] = [chat(), chat()]
  await Promise.all([idle.say("one"), busy.say("one")])
  // The other call keeps sending on the same connection until the idle one has ended.
  let result = 0
  let over = false
  void idle.ended.then(() => {
    over = true
  })
  const isOver = async () => {
    expect(await busy.say(`${result}`)).toBe(`<${result}>`)
    result++
    return over
  }
  await eventually(isOver, { what: "the idle call ends", change: signal => sleep(20, undefined, { signal }) })
  expect(await idle.ended).toMatchObject({ code: status.CANCELLED })
  expect(rig.meters.limits).toEqual(["streamIdleTimeoutMs"])
  expect(await busy.say("still")).toBe("<still>")
  busy.call.end()
  busy.call.resume()
  expect(await busy.ended).toMatchObject({ code: status.OK })
  expect((await unary(client, "/test.Echo/Say", "x")).value).toBe("you said x")
  expect(rig.meters.opened).toBe(1)
})

it("carries an expired deadline to the application", async () => {
  const { client, seen, cancelled } = await start()
  // On a busy machine the deadline may expire before the call has arrived.
  for (let patienceMs = 100; seen.length === 0; patienceMs *= 2) {
    const { error } = await unary(client, "/test.Echo/Never", "x", new Date(Date.now() + patienceMs))
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED)
  }
  await cancelled
})

it("proves the caller's identity with mTLS", async () => {
  const { rig, seen } = await start({ mode: "STRICT" })
  const { certificate, privateKey } = authority.issue()
  const [ca, key, cert] = [authority.certificate, privateKey, certificate].map(text => Buffer.from(text))
  if (ca === undefined || key === undefined || cert === undefined) throw new Error("no certificate")
  const secure = credentials.createSsl(ca, key, cert, { checkServerIdentity: () => undefined })
  // An address is not a valid server name (RFC 6066 section 3), and newer versions of Node reject it.
  const client = new Client(`127.0.0.1:${rig.port}`, secure, { "grpc.ssl_target_name_override": "orders" })
  cleanups.push(() => client.close())
  expect((await unary(client, "/test.Echo/Say", "x")).value).toBe("you said x")
  expect(String(seen[0]?.get("x-forwarded-client-cert"))).toContain(`URI=${GOOD_ID}`)
})

describe("a rejection", () => {
  it("by authorization is PERMISSION_DENIED with the exact message", async () => {
    const deny = authorization("no", {
      action: "DENY",
      rules: [{ to: [{ operation: { paths: ["/test.Echo/Say"] } }] }],
    })
    const { client, rig } = await start({ policies: [deny] })
    const { error } = await unary(client, "/test.Echo/Say", "x")
    expect(error).toMatchObject({ code: status.PERMISSION_DENIED, details: "RBAC: access denied" })
    expect(String(error?.metadata.get("x-merlon-decision"))).toMatch(/^[0-9a-f]{20}$/)
    await rig.meters.until(meters => meters.records.length === 1)
    expect(rig.meters.records[0]?.judgement?.verdict).toBe("deny")
  })

  it("for a bad token is UNAUTHENTICATED", async () => {
    const { client } = await start({
      policies: [
        {
          apiVersion: "security.merlon.dev/v1alpha3",
          kind: "RequestAuthentication",
          metadata: { name: "jwt", namespace: "shop" },
          spec: { jwtRules: [{ issuer: "i", jwks: '{"keys":[]}' }] },
        },
      ],
    })
    const metadata = new Metadata()
    metadata.set("authorization", "Bearer no.token")
    const error = await new Promise<ServiceError | null>(resolve => {
      client.makeUnaryRequest("/test.Echo/Say", bytes.serialize, bytes.deserialize, "x", metadata, resolve)
    })
    expect(error).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections",
    })
  })

  it("because the application is down is UNAVAILABLE", async () => {
    const { client } = await start()
    await cleanups.shift()?.()
    const { error } = await unary(client, "/test.Echo/Say", "x")
    expect(error?.code).toBe(status.UNAVAILABLE)
  })
})
