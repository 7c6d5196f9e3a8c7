// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { connectTcp, Http1Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { eventually } from "@merlon/wire/testing"
import fc from "fast-check"
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest"
import { Authority, GOOD_ID } from "../accept/testing/certificates.js"
import { authorization, listening, type Rig, type RigOptions, startRig } from "../accept/testing/rig.js"
import { forwardTo } from "../http/exchange.js"
import { serveHttp1 } from "../http1/serve.js"
import { type LenientServer, lenientNode, lenientPython } from "./testing/lenient-servers.js"

const SNIFF_MS = 40
const authority = new Authority()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function startUndeclared(port: number, options: RigOptions = {}): Promise<Rig> {
  const address = { host: "127.0.0.1", port }
  return startRig({
    authority,
    ...options,
    limits: { sniffTimeoutMs: SNIFF_MS, headerTimeoutMs: 200, ...options.limits },
    port: { protocol: "auto", upstream: address },
    handlers: ({ gate, meters, limits, connections }) => {
      const deadlines = new Deadlines(limits)
      const connect: Connect = how => connectTcp(address, limits.connectTimeoutMs, how)
      const upstream = new Http1Pool({ connect, limits, deadlines, observer: meters })
      return {
        http1: serveHttp1(
          { gate, meters, limits, connections, deadlines },
          forwardTo(() => upstream),
        ),
      }
    },
  })
}

async function open(rig: Rig, how: string): Promise<Socket> {
  const at = { host: "127.0.0.1", port: rig.port, allowHalfOpen: true }
  const { certificate, privateKey } = authority.issue()
  const own = { cert: certificate, key: privateKey, ALPNProtocols: ["merlon"], rejectUnauthorized: false }
  const socket = how === "in clear" ? connect(at) : connectTls({ ...at, ...own })
  socket.on("error", () => undefined)
  cleanups.push(() => socket.destroy())
  await once(socket, how === "in clear" ? "connect" : "secureConnect")
  return socket
}

/** Bytes, or `silence` for a pause that is longer than the time for the first bytes. */
type Step = string

/** Returns what was received: everything up to `until`, or, if nothing is expected, what came in a while. */
async function play(rig: Rig, how: string, steps: readonly Step[], end: boolean, until?: string): Promise<string> {
  const socket = await open(rig, how)
  let received = ""
  socket.on("data", chunk => {
    received += String(chunk)
  })
  const gone = new Promise<void>(resolve => {
    socket.once("close", () => resolve())
    socket.once("end", () => socket.end())
  })
  for (const step of steps) {
    if (step === "silence") await Promise.race([gone, new Promise(resolve => setTimeout(resolve, 2 * SNIFF_MS))])
    else if (socket.writable) await new Promise(resolve => socket.write(Buffer.from(step, "latin1"), resolve))
    await new Promise(resolve => setImmediate(resolve))
  }
  if (end) socket.end()
  if (until !== undefined)
    await eventually(() => received.includes(until) || socket.destroyed, {
      what: `${JSON.stringify(until)} arrives or the connection closes`,
      state: () => JSON.stringify(received),
    })
  // Events in flight must be handled before the test counts.
  await Promise.race([gone, new Promise(resolve => setTimeout(resolve, 2 * SNIFF_MS))])
  socket.destroy()
  return received
}

const FORGED = "Host: a\r\nX-Forwarded-Client-Cert: URI=spiffe://forged\r\nX-Sub: admin\r\n\r\n"
const ATTACKS: readonly (readonly [string, readonly Step[]])[] = [
  ["half a method, silence, the rest", ["GE", "silence", `T /x HTTP/1.1\r\n${FORGED}`]],
  ["silence, then half a method, silence, the rest", ["silence", "GE", "silence", `T /x HTTP/1.1\r\n${FORGED}`]],
  ["silence, then a request", ["silence", `GET /x HTTP/1.1\r\n${FORGED}`]],
  ["a space first", [` GET /x HTTP/1.1\r\n${FORGED}`]],
  ["a tab first", [`\tGET /x HTTP/1.1\r\n${FORGED}`]],
  ["a vertical tab first", [`\x0bGET /x HTTP/1.1\r\n${FORGED}`]],
  ["a long method", [`${"A".repeat(300)} /x HTTP/1.1\r\n${FORGED}`]],
  ["a very long method in pieces", ["A".repeat(9_000), "A".repeat(9_000), ` /x HTTP/1.1\r\n${FORGED}`]],
  ["bytes that no method has", [`\x00\x01 /x HTTP/1.1\r\n${FORGED}`]],
  ["a protocol's greeting, then a request", [`EHLO x\r\nGET /x HTTP/1.1\r\n${FORGED}`]],
  ["a greeting, and a request later", ["AMQP\x00\x00\x09\x01", `\r\nGET /x HTTP/1.1\r\n${FORGED}`]],
  ["a target and no version", ["\x00\r\nGET /x\r\n"]],
  ["a method that ends in CR", [`FOO\r/x\rHTTP/1.1\n${FORGED}`]],
  ["empty lines without end", ["\r\n".repeat(5_000), `GET /x HTTP/1.1\r\n${FORGED}`]],
  ["a version as the target", [" /x HTTP/1.1", ` HTTP/1.1\r\n${FORGED}`]],
  ["half a preface, silence, the rest", ["PRI * HT", "silence", `TP/1.1\r\n${FORGED}`]],
]

const PIECES = [
  ...["GE", "T", "GET", "POST", "FOO", "A".repeat(40), " ", "\t", "\x0b", "\r", "\n", "\r\n", "\x00", "\x16\x03\x01"],
  ...["/x", " /x ", "HTTP/1.1", " HTTP/1.1\r\n", "HTTP/", "1.0", "GET /x HTTP/1.1\r\n", "GET /x\n", "Host: a\r\n"],
  ...["\r\n\r\n", "EHLO a\r\n", "PRI * HTTP/2.0\r\n\r\n", "\xa0", "\x85", "\x1c", "AMQP\x00\x00\x09\x01", "*1\r\n"],
]
const step = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...PIECES) },
  {
    weight: 2,
    arbitrary: fc.uint8Array({ minLength: 1, maxLength: 6 }).map(bytes => Buffer.from(bytes).toString("latin1")),
  },
  { weight: 1, arbitrary: fc.constant("silence") },
)

describe.each(["in clear", "under mTLS"])("an application on an undeclared port, %s,", how => {
  describe("that is Node in lenient mode", () => getsNothingUnjudged(lenientNode))
  describe("that is Python's http.server", { tags: ["needs/python3"] }, () => getsNothingUnjudged(lenientPython))

  function getsNothingUnjudged(start: () => Promise<LenientServer>): void {
    let server: LenientServer
    let rig: Rig
    beforeAll(async () => {
      server = await start()
      rig = await startUndeclared(server.port)
    })
    afterAll(async () => {
      await rig.stop()
      await server.stop()
    })

    it.each(ATTACKS)("gets no unevaluated request: %s", async (_, steps) => {
      await play(rig, how, steps, false)
      await server.settled()
      expect(server.unjudged()).toEqual([])
    })

    it("gets no unevaluated request, for any bytes in any pieces", { timeout: 300_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.boolean(), async (steps, end) => {
          await play(rig, how, steps, end)
          await server.settled()
          expect(server.unjudged()).toEqual([])
        }),
        { numRuns: 60 * inject("effort") },
      )
    })

    it("still gets requests, also after a silence", async () => {
      const before = server.count()
      const whole = "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
      expect(await play(rig, how, [whole], false, "200 OK")).toContain("200 OK")
      expect(await play(rig, how, ["silence", whole], false, "200 OK")).toContain("200 OK")
      await server.settled()
      expect(server.count()).toBe(before + 2)
      expect(server.unjudged()).toEqual([])
    })
  }
})

async function application(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    serve(socket.on("error", () => undefined))
    cleanups.push(() => socket.destroy())
  })
  cleanups.push(() => server.close())
  return listening(server)
}

async function start(serve: (socket: Socket) => void, options: RigOptions = {}): Promise<Rig> {
  const rig = await startUndeclared(await application(serve), options)
  cleanups.push(() => rig.stop())
  return rig
}

const greeting = (socket: Socket): void => {
  socket.write("220 ready\r\n")
  socket.on("data", chunk => socket.write(chunk))
}

describe("an undeclared port", () => {
  it("carries a protocol whose server speaks first, and then whatever its client sends", async () => {
    const rig = await start(greeting)
    const socket = await open(rig, "in clear")
    expect(String((await once(socket, "data"))[0])).toBe("220 ready\r\n")
    socket.write("GET /x HTTP/1.1\r\n")
    expect(String((await once(socket, "data"))[0])).toBe("GET /x HTTP/1.1\r\n")
  })

  it("carries a protocol whose client speaks first, at once or after a silence", async () => {
    const rig = await start(socket => socket.on("data", chunk => socket.write(`got ${String(chunk)}`)))
    for (const wait of [0, 3 * SNIFF_MS]) {
      const socket = await open(rig, "in clear")
      await new Promise(resolve => setTimeout(resolve, wait))
      socket.write("PING\r\n")
      expect(String((await once(socket, "data"))[0])).toBe("got PING\r\n")
      socket.destroy()
    }
  })

  it("ends a connection on which its application answers in HTTP", async () => {
    const rig = await start(socket => socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")))
    expect(await play(rig, "in clear", ["PING\r\n"], false)).toBe("")
    await rig.meters.until(({ records }) => records.length === 1)
    expect(rig.meters.records[0]?.judgement).toMatchObject({ stage: "protocol", error: "http-answer" })
  })

  it("waits for no byte longer than the limit, and reports that", async () => {
    const rig = await start(greeting)
    const socket = await open(rig, "in clear")
    socket.write("GE")
    await once(socket.resume(), "end")
    expect(rig.meters.limits).toEqual(["sniffTimeoutMs"])
    expect(rig.meters.rejected[0]?.judgement).toMatchObject({ stage: "protocol", error: "undecided" })
  })

  const byMethod = authorization("reads", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] })
  const otherPort = authorization("other", { rules: [{ to: [{ operation: { methods: ["GET"], ports: ["9090"] } }] }] })
  const shadow = authorization("shadow", {
    enforcement: "Shadow",
    rules: [{ to: [{ operation: { methods: ["GET"] } }] }],
  })
  const byIdentity = authorization("peers", {
    action: "DENY",
    rules: [{ from: [{ source: { principals: [`${GOOD_ID.replace("spiffe://", "")}-other`] } }] }],
  })
  const tokens = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "RequestAuthentication",
    metadata: { name: "tokens", namespace: "shop" },
    spec: { jwtRules: [{ issuer: "https://i.example", jwks: '{"keys":[]}' }] },
  } as const

  it.each([
    ["a method", [byMethod], ["PING\r\n"]],
    ["a token", [tokens], ["PING\r\n"]],
    ["a token, while neither side sends anything", [tokens], ["silence"]],
  ])("accepts only HTTP if a policy reads %s", async (_, policies, steps) => {
    const rig = await start(greeting, { policies })
    expect(await play(rig, "in clear", steps, false)).toBe("")
    await rig.meters.until(({ records }) => records.length === 1)
    expect(rig.meters.records[0]).toMatchObject({
      decisionId: expect.any(String),
      judgement: { verdict: "deny", stage: "protocol", error: "http-needed" },
    })
  })

  it.each([
    ["only identities", [byIdentity]],
    ["methods in shadow mode", [shadow]],
  ])("accepts any protocol if policies read %s", async (_, policies) => {
    const rig = await start(greeting, { policies })
    expect(await play(rig, "in clear", ["PING\r\n"], false, "ready")).toContain("220 ready")
  })

  it("is judged as TCP if a policy reads methods of other ports", async () => {
    const rig = await start(greeting, { policies: [otherPort] })
    await play(rig, "in clear", ["PING\r\n"], false)
    await rig.meters.until(({ records }) => records.length === 1)
    // No ALLOW rule is left for this port, which is a denial by policy.
    expect(rig.meters.records[0]?.judgement).toMatchObject({ verdict: "deny", stage: "allow" })
  })
})
