// SPDX-License-Identifier: Apache-2.0
// CUSTOM policies on a real data path with real providers on loopback: good, dead, slow, lying and oversized ones.

import { once } from "node:events"
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import {
  connect,
  constants,
  createServer as createHttp2Server,
  type Http2Server,
  type ServerHttp2Stream,
} from "node:http2"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { meshConfig, readProviders } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { eventually } from "@merlon/wire/testing"
import { type CheckQuestion, readCheck, writeCheck } from "@merlon/xds/authz"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readEvaluations } from "../authorizer/authzen.js"
import type { Configuration } from "../config/configuration.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "../process/local-data-path.js"

interface Arrived {
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

interface Told {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** For providers that do answer, on a busy machine. */
const PATIENT_MS = 30_000

let path: LocalDataPath
let application: Server
let arrived: Arrived[]
let revision = 0
const open: (Server | Http2Server)[] = []
const sockets = new Set<{ destroy(): void }>()

async function listening<S extends Server | Http2Server>(server: S): Promise<S> {
  server.on("connection", (socket: { destroy(): void }) => sockets.add(socket))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  open.push(server)
  return server
}

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port // they all are TCP servers

beforeEach(async () => {
  arrived = []
  application = await listening(
    createServer((incoming, response) => {
      void text(incoming).then(body => {
        arrived.push({ url: incoming.url ?? "", headers: incoming.headers, body })
        response.end("application")
      })
    }),
  )
  path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" })
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  for (const server of open.splice(0)) server.close()
  await path.drain()
})

const policy = (name: string, spec: object): PolicyDocument => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "foo" },
  spec,
})

const asks = (provider: string, at = "/*"): PolicyDocument =>
  policy(`ask-${provider}`, {
    action: "CUSTOM",
    provider: { name: provider },
    rules: [{ to: [{ operation: { paths: [at] } }] }],
  })

async function apply(providers: readonly object[], ...policies: PolicyDocument[]): Promise<void> {
  const configuration: Configuration = {
    revision: ++revision,
    mesh: meshConfig({ providers: readProviders(providers, "providers") }),
    workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default", labels: {} },
    ports: [
      {
        port: 8080,
        listen: { host: "127.0.0.1", port: 0 },
        upstream: { host: "127.0.0.1", port: portOf(application) },
        protocol: "http",
        upstreamProtocol: "http/1.1",
        serviceNames: [],
      },
    ],
    policies,
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  }
  await path.apply(configuration)
}

function call(
  url: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const port = path.addresses()[0]?.port
    const outgoing = request({ host: "127.0.0.1", port, path: url, method, headers, agent: false }, response => {
      const { statusCode: status = 0, headers: received } = response
      text(response).then(content => resolve({ status, headers: received, body: content }), reject)
    })
    outgoing.on("error", reject)
    outgoing.end(body)
  })
}

const reasonOf = async (received: Told): Promise<string | undefined> =>
  (await path.decision(String(received.headers["x-merlon-decision"])))?.reason

type HttpHandler = (incoming: IncomingMessage, response: ServerResponse) => void

async function httpProvider(handler: HttpHandler, more: object = {}): Promise<object> {
  const server = await listening(createServer(handler))
  return { name: "ext", protocol: "http", address: `127.0.0.1:${portOf(server)}`, timeoutMs: PATIENT_MS, ...more }
}

async function authzenProvider(answer: unknown, more: object = {}, seen: unknown[] = []): Promise<object> {
  const provider = await httpProvider((incoming, response) => {
    void text(incoming).then(body => {
      seen.push([incoming.method, incoming.url, JSON.parse(body)])
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify(answer))
    })
  }, more)
  return { ...provider, protocol: "authzen" }
}

type GrpcHandler = (question: CheckQuestion, stream: ServerHttp2Stream) => void

async function grpcProvider(handler: GrpcHandler, more: object = {}): Promise<object> {
  const server = await listening(createHttp2Server())
  server.on("stream", (stream, head) => {
    const parts: Buffer[] = []
    stream.on("error", () => undefined)
    stream.on("data", (part: Buffer) => parts.push(part))
    stream.on("end", () => {
      if (head[":path"] !== "/envoy.service.auth.v3.Authorization/Check") stream.close()
      else handler(readCheck(Buffer.concat(parts).subarray(5)), stream)
    })
  })
  return { name: "ext", protocol: "grpc", address: `127.0.0.1:${portOf(server)}`, timeoutMs: PATIENT_MS, ...more }
}

function framed(message: Uint8Array): Buffer {
  const whole = Buffer.alloc(5 + message.length)
  whole.writeUInt32BE(message.length, 1)
  whole.set(message, 5)
  return whole
}

function respond(stream: ServerHttp2Stream, content: Buffer, status = "0"): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }))
  stream.end(content)
}

const allow = (setHeaders: readonly (readonly [string, string])[] = [], removeHeaders: readonly string[] = []) =>
  framed(writeCheck({ verdict: "allow", setHeaders, removeHeaders, removeParameters: [] }))

const deny = (status: number, headers: readonly (readonly [string, string])[] = []) =>
  framed(writeCheck({ verdict: "deny", status, body: "not you", headers }))

describe("a provider that allows", () => {
  const more = { headersToUpstream: ["x-auth-user"], sendHeaders: ["x-api-key"] }
  const answer = [
    ["x-auth-user", "alice"],
    ["x-other", "1"],
  ] as const

  it.each(["grpc", "http"] as const)("adds its declared headers over %s, and no caller can", async protocol => {
    const seen: unknown[] = []
    const provider =
      protocol === "grpc"
        ? await grpcProvider((question, stream) => {
            seen.push([question.http?.method, question.http?.path, Object.fromEntries(question.http?.headers ?? [])])
            respond(stream, allow(answer, ["authorization"]))
          }, more)
        : await httpProvider((incoming, response) => {
            const { "x-api-key": key, "x-auth-user": user } = incoming.headers
            seen.push([incoming.method, incoming.url, { "x-api-key": key, ...(user && { "x-auth-user": user }) }])
            for (const [name, value] of answer) response.setHeader(name, value)
            response.setHeader("x-envoy-auth-headers-to-remove", "Authorization")
            response.end()
          }, more)
    await apply([provider], asks("ext", "/asked/*"))
    const headers = { "x-auth-user": "mallory", x_auth_user: "mallory", "x-api-key": "k", authorization: "Basic x" }
    const body = "b".repeat(200_000)
    expect((await call("/asked/1?q=2", { method: "POST", headers, body })).status).toBe(200)
    expect((await call("/other", { headers })).status).toBe(200)
    expect(seen).toEqual([["POST", "/asked/1?q=2", { "x-api-key": "k" }]])
    expect(arrived.map(({ url, body: { length } }) => [url, length])).toEqual([
      ["/asked/1?q=2", 200_000],
      ["/other", 0],
    ])
    expect(arrived.map(({ headers: got }) => [got["x-auth-user"], got.x_auth_user, got["x-other"]])).toEqual([
      ["alice", undefined, undefined],
      [undefined, undefined, undefined],
    ])
    expect(arrived.map(({ headers: got }) => got.authorization)).toEqual([undefined, "Basic x"])
  })

  it("adds and removes headers over authzen, and receives what merlond authorizer reads", async () => {
    const seen: unknown[] = []
    const set = answer.map(([name, value]) => ({ name, value }))
    const allowing = { decision: true, context: { set_headers: set, remove_headers: ["Authorization"], extra: {} } }
    await apply([await authzenProvider(allowing, { ...more, pathPrefix: "/pdp" }, seen)], asks("ext"))
    const headers = { "x-auth-user": "mallory", x_auth_user: "mallory", "x-api-key": "k", authorization: "Basic x" }
    expect((await call("/a%20b?q=2", { method: "POST", headers: { ...headers, host: "shop.example" } })).status).toBe(
      200,
    )
    const { "x-auth-user": user, x_auth_user: lookalike, "x-other": other, authorization } = arrived[0]?.headers ?? {}
    expect([user, lookalike, other, authorization]).toEqual(["alice", undefined, undefined, undefined])
    const question = {
      subject: { type: "anonymous", id: "", properties: { ip_address: "127.0.0.1" } },
      action: { name: "POST" },
      resource: { type: "http", id: "/a%20b?q=2", properties: { host: "shop.example", scheme: "http" } },
      context: { headers: { "x-api-key": ["k"] } },
    }
    expect(seen).toEqual([["POST", "/pdp/access/v1/evaluation", question]])
    expect(readEvaluations(Buffer.from(JSON.stringify(question)), "evaluation")).toHaveProperty("items")
  })

  it("leaves the decision to DENY and ALLOW", async () => {
    await apply(
      [await grpcProvider((_, stream) => respond(stream, allow()))],
      asks("ext"),
      policy("no", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/no"] } }] }] }),
      policy("yes", { rules: [{ to: [{ operation: { paths: ["/no", "/yes"] } }] }] }),
    )
    const statuses = [await call("/no"), await call("/yes"), await call("/else")].map(({ status }) => status)
    expect(statuses).toEqual([403, 200, 403])
  })

  it("is named with the decision", async () => {
    await apply([await grpcProvider((_, stream) => respond(stream, allow()))], asks("ext"))
    await call("/x")
    expect((await path.decisions()).map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["allow", "allowed by provider `ext`"],
    ])
  })
})

describe("a provider that denies", () => {
  const received = [
    ["location", "/login"],
    ["x-secret", "1"],
  ] as const

  it.each(["grpc", "http"] as const)("answers the caller over %s, before DENY does", async protocol => {
    const provider =
      protocol === "grpc"
        ? await grpcProvider((_, stream) => respond(stream, deny(302, received)))
        : await httpProvider((_, response) => response.writeHead(302, Object.fromEntries(received)).end("not you"))
    await apply([provider], asks("ext"), policy("no", { action: "DENY", rules: [{}] }))
    const answer = await call("/x", { method: "POST", body: "content" })
    expect([answer.status, answer.body, answer.headers.location, answer.headers["x-secret"]]).toEqual([
      302,
      "not you",
      "/login",
      undefined,
    ])
    expect(arrived).toEqual([])
    expect(await reasonOf(answer)).toBe("denied by provider `ext`: status 302; foo/ask-ext rules[0] asks it")
  })
})

it.each<[string, object, number, string, string | undefined]>([
  ["nothing more", {}, 403, "", undefined],
  ["why", { context: { reason: "n\u00f6" } }, 403, "n\u00f6", undefined],
  ["a reason that is not a string", { context: { reason: { en: "no" } } }, 403, "", undefined],
  [
    "a response",
    {
      context: {
        status: 302,
        reason: "in",
        headers: [
          { name: "Location", value: "/login" },
          { name: "x", value: "y" },
        ],
      },
    },
    302,
    "in",
    "/login",
  ],
])("a denial over authzen may have %s", async (_, more, status, body, location) => {
  await apply([await authzenProvider({ decision: false, ...more })], asks("ext"))
  const received = await call("/x")
  expect([received.status, received.body, received.headers.location, received.headers.x]).toEqual([
    status,
    body,
    location,
    undefined,
  ])
  expect(await reasonOf(received)).toBe(`denied by provider \`ext\`: status ${status}; foo/ask-ext rules[0] asks it`)
})

describe("an unreliable provider", () => {
  const big = Buffer.alloc(200_000, "x")
  const both = Buffer.from([0x0a, 0x00, 0x12, 0x00])
  const http: readonly (readonly [string, HttpHandler, string])[] = [
    ["reports an error", (_, response) => response.writeHead(500).end(), "it reported an error"],
    ["allows with another status", (_, response) => response.writeHead(204).end(), "malformed"],
    ["writes too much", (_, response) => response.writeHead(403).end(big), "too large"],
    [
      "writes too many headers",
      (_, response) => response.writeHead(200, { "x-a": "a".repeat(70_000) }).end(),
      "malformed",
    ],
    ["breaks off", incoming => incoming.socket.destroy(), "broke"],
    [
      "sends less than it announced",
      (_, response) => {
        response.writeHead(403, { "content-length": "10" })
        response.write("1")
        setImmediate(() => response.socket?.destroy())
      },
      "broke",
    ],
    ["never answers", () => undefined, "did not answer in time"],
    ["never ends its answer", (_, response) => void response.writeHead(200).write("x"), "did not answer in time"],
  ]
  const grpc: readonly (readonly [string, GrpcHandler, string])[] = [
    ["allows and denies at once", (_, stream) => respond(stream, framed(both)), "malformed"],
    ["has no status", (_, stream) => respond(stream, framed(new Uint8Array())), "malformed"],
    ["sends two answers", (_, stream) => respond(stream, Buffer.concat([allow(), allow()])), "malformed"],
    ["sends half an answer", (_, stream) => respond(stream, allow().subarray(0, 6)), "malformed"],
    [
      "sends no message of the protocol",
      (_, stream) => respond(stream, framed(Buffer.from([0xff, 0xff]))),
      "malformed",
    ],
    ["allows, and reports an error", (_, stream) => respond(stream, allow(), "13"), "it reported an error"],
    ["denies with success", (_, stream) => respond(stream, deny(200)), "malformed"],
    ["ends a header line", (_, stream) => respond(stream, deny(302, [["location", "/\r\nx: 1"]])), "malformed"],
    ["removes the framing", (_, stream) => respond(stream, allow([], ["content-length"])), "malformed"],
    ["writes too much", (_, stream) => respond(stream, big), "too large"],
    ["never answers", () => undefined, "did not answer in time"],
  ]
  const authzen: readonly (readonly [string, unknown, string])[] = [
    ["has no decision", {}, "malformed"],
    ["has a string as its decision", { decision: "true" }, "malformed"],
    ["is a list", [{ decision: true }], "malformed"],
    ["is no object", true, "malformed"],
    ["removes parameters", { decision: true, context: { remove_parameters: ["a"] } }, "malformed"],
    ["writes invalid headers", { decision: true, context: { set_headers: { "x-a": "1" } } }, "malformed"],
    ["ends a header line", { decision: true, context: { set_headers: [{ name: "x", value: "a\r\nb" }] } }, "malformed"],
    ["removes the framing", { decision: true, context: { remove_headers: ["content-length"] } }, "malformed"],
    ["denies with success", { decision: false, context: { status: 200 } }, "malformed"],
    ["denies with an invalid status", { decision: false, context: { status: "403" } }, "malformed"],
    ["has an invalid context", { decision: true, context: [] }, "malformed"],
    ["writes too much", { decision: true, context: { extra: "x".repeat(70_000) } }, "too large"],
  ]
  const overHttp = (handler: HttpHandler) => async (more: object) => ({
    ...(await httpProvider(handler, more)),
    protocol: "authzen",
  })
  const json = { "content-type": "application/json" }
  const servers = [
    ...authzen.map(
      ([name, answer, why]) => [`${name} over authzen`, (more: object) => authzenProvider(answer, more), why] as const,
    ),
    ["allows as text over authzen", overHttp((_, response) => response.end('{"decision":true}')), "malformed"] as const,
    [
      "denies and allows over authzen",
      overHttp((_, response) => response.writeHead(200, json).end('{"decision":false,"decision":true}')),
      "malformed",
    ] as const,
    [
      "allows with an error over authzen",
      overHttp((_, response) => response.writeHead(401, json).end('{"decision":true}')),
      "it reported an error",
    ] as const,
    [
      "allows with another status over authzen",
      overHttp((_, response) => response.writeHead(201, json).end('{"decision":true}')),
      "malformed",
    ] as const,
    ["never answers over authzen", overHttp(() => undefined), "did not answer in time"] as const,
    ...http.map(
      ([name, handler, why]) => [`${name} over http`, (more: object) => httpProvider(handler, more), why] as const,
    ),
    ...grpc.map(
      ([name, handler, why]) => [`${name} over grpc`, (more: object) => grpcProvider(handler, more), why] as const,
    ),
    [
      "is down",
      async (more: object) => ({ name: "ext", protocol: "grpc", address: "127.0.0.1:1", ...more }),
      "reached",
    ] as const,
    ["is not declared", async () => ({ name: "other", protocol: "grpc", address: "127.0.0.1:1" }), "declare"] as const,
  ]

  it.each(servers)("%s: the request is denied", async (name, start, why) => {
    await apply([await start({ timeoutMs: name.startsWith("never") ? 150 : PATIENT_MS })], asks("ext"))
    const received = await call("/x")
    expect([received.status, received.body]).toEqual([403, "RBAC: access denied"])
    expect(await reasonOf(received)).toContain(why)
    expect(arrived).toEqual([])
  })

  it.each(servers.slice(-3))("%s: its declaration can allow requests", async (name, start) => {
    await apply([await start({ timeoutMs: 150, failureMode: "open" })], asks("ext"))
    // An undeclared provider has no failure mode.
    expect((await call("/x")).status).toBe(name === "is not declared" ? 403 : 200)
  })

  it("denies when it answers so, whatever its failure mode is", async () => {
    await apply([await grpcProvider((_, stream) => respond(stream, deny(401)), { failureMode: "open" })], asks("ext"))
    expect((await call("/x")).status).toBe(401)
  })
})

describe("while a provider is queried", () => {
  /** Holds every question until the test answers it. */
  async function holding(): Promise<{ provider: object; held: (() => void)[]; gone: () => number }> {
    const held: (() => void)[] = []
    let gone = 0
    const provider = await grpcProvider((_, stream) => {
      stream.on("close", () => gone++)
      held.push(() => respond(stream, allow()))
    })
    return { provider, held, gone: () => gone }
  }

  it("no other request waits", async () => {
    const { provider, held } = await holding()
    await apply([provider], asks("ext", "/slow"))
    const slow = call("/slow")
    await eventually(() => held.length === 1)
    expect((await call("/fast")).status).toBe(200)
    held[0]?.()
    expect((await slow).status).toBe(200)
  })

  it("the policies that are current when it has answered decide", async () => {
    const { provider, held } = await holding()
    await apply([provider], asks("ext"))
    const asked = call("/x")
    await eventually(() => held.length === 1)
    await apply([provider], asks("ext"), policy("no", { action: "DENY", rules: [{}] }))
    held[0]?.()
    expect((await asked).status).toBe(403)
    expect(arrived).toEqual([])
  })

  it("a provider that policies name meanwhile is queried too", async () => {
    const { provider, held } = await holding()
    const second = await httpProvider((_, response) => response.writeHead(401).end(), {})
    await apply([provider], asks("ext"))
    const asked = call("/x")
    await eventually(() => held.length === 1)
    await apply([provider, { ...second, name: "second" }], asks("ext"), asks("second"))
    held[0]?.()
    expect((await asked).status).toBe(401)
  })

  it("the query is cancelled with its caller", async () => {
    const { provider, held, gone } = await holding()
    await apply([provider], asks("ext"))
    const session = connect(`http://127.0.0.1:${path.addresses()[0]?.port}`)
    const outgoing = session.request({ ":path": "/x" })
    outgoing.on("error", () => undefined)
    await eventually(() => held.length === 1)
    outgoing.close(constants.NGHTTP2_CANCEL)
    await eventually(() => gone() === 1)
    session.destroy()
    expect(arrived).toEqual([])
  })

  it("a request in flight that a new CUSTOM policy matches is ended", async () => {
    const held: ServerResponse[] = []
    application.removeAllListeners("request")
    application.on("request", (_, response) => held.push(response))
    await apply([])
    const inFlight = call("/x")
    await eventually(() => held.length === 1)
    const { provider } = await holding()
    await apply([provider], asks("ext"))
    expect((await inFlight).status).toBe(403)
  })
})
