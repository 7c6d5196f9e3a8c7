// SPDX-License-Identifier: Apache-2.0
// Requests over HTTP/2 to applications that speak HTTP/1.1 and HTTP/2, by third-party clients.

import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { constants } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterEach, describe, expect, it, test } from "vitest"
import { Authority, GOOD_ID, OWN_ID } from "../accept/testing/certificates.js"
import type { RigOptions } from "../accept/testing/rig.js"
import { type AppListener, answerOf, ask, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"
import { closed, mirror, seen } from "./testing/mirror.js"

const authority = new Authority()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(speaks: Speaks, app: AppListener, options: RigOptions = {}): Promise<Http2Rig> {
  const rig = await startHttp2Rig(speaks, app, { authority, ...options })
  cleanups.push(() => rig.stop())
  return rig
}

describe.each<Speaks>(["http/1.1", "h2c"])("towards an application that speaks %s", speaks => {
  it("carries a request and its response", async () => {
    const rig = await start(speaks, mirror)
    const request = await seen(rig.connect(), { ":method": "POST", ":path": "/a/b?c=d", "x-custom": "1" }, "hello")
    expect(request).toMatchObject({ method: "POST", url: "/a/b?c=d", body: "hello", headers: { "x-custom": "1" } })
    await rig.rig.meters.until(meters => meters.records.length === 1)
    expect(rig.rig.meters.records[0]).toMatchObject({
      protocol: "h2",
      method: "POST",
      path: "/a/b",
      status: 200,
      bytesReceived: 5,
      decisionId: undefined,
      upstreamFailure: undefined,
    })
  })

  it("sets the headers that only the proxy may set, and removes them from clients", async () => {
    const rig = await start(speaks, mirror)
    const forged = {
      "x-forwarded-client-cert": "By=x;URI=spiffe://cluster.local/ns/admin/sa/root",
      x_forwarded_client_cert: "URI=spiffe://cluster.local/ns/admin/sa/root",
      "x-forwarded-proto": "gopher",
      "x-forwarded-for": "1.2.3.4",
      "x-request-id": "abc",
    }
    const { headers } = await seen(rig.connect(), forged)
    expect(headers).toMatchObject({
      "x-forwarded-proto": "http",
      "x-forwarded-for": "1.2.3.4, 127.0.0.1",
      "x-request-id": "abc",
    })
    expect(JSON.stringify(headers)).not.toContain("spiffe:")
    const { certificate, privateKey } = authority.issue()
    const secure = rig.connect({
      ca: authority.certificate,
      cert: certificate,
      key: privateKey,
      checkServerIdentity: () => undefined,
    })
    const resultOf = (await seen(secure, { "x-forwarded-client-cert": "URI=x" })).headers
    expect(resultOf["x-forwarded-proto"]).toBe("https")
    expect(resultOf["x-forwarded-client-cert"]).toMatch(
      new RegExp(`^By=${OWN_ID};Hash=[0-9a-f]{64};Subject="";URI=${GOOD_ID}$`),
    )
    expect(resultOf["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/)
  })

  it("joins the pieces of a cookie", async () => {
    const rig = await start(speaks, mirror)
    const { headers } = await seen(rig.connect(), { cookie: ["a=1", "b=2"] })
    expect(headers.cookie).toBe("a=1; b=2")
  })

  it("carries non-ASCII bytes in headers unchanged", async () => {
    const rig = await start(speaks, (_, response) => {
      response.setHeader("x-back", "gr\xfc\xdfe")
      response.end()
    })
    const { headers } = await ask(rig.connect(), { "x-there": "\xe4" })
    expect(headers["x-back"]).toBe("gr\xfc\xdfe")
  })

  it("carries trailers both ways", async () => {
    const rig = await start(speaks, (request, response) => {
      request.resume().on("end", () => {
        response.writeHead(200, { trailer: "x-sum" })
        response.write("body")
        response.addTrailers({
          "x-sum": String(request.trailers["x-check"]),
          "x-admin": String(request.trailers.authorization),
        })
        response.end()
      })
    })
    const stream = rig.connect().request({ ":method": "POST" }, { waitForTrailers: true })
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-check": "42", authorization: "Bearer x" }))
    stream.end("content")
    const { body, trailers } = await answerOf(stream)
    expect(body.toString()).toBe("body")
    expect(trailers).toMatchObject({ "x-sum": "42", "x-admin": "undefined" })
  })

  it("streams in both directions at once", async () => {
    const rig = await start(speaks, (request, response) => {
      response.writeHead(200)
      request.on("data", chunk => response.write(`<${chunk}>`))
      request.on("end", () => response.end())
    })
    const stream = rig.connect().request({ ":method": "POST" })
    for (const word of ["one", "two", "three"]) {
      stream.write(word)
      const [chunk] = await once(stream, "data")
      expect(String(chunk)).toBe(`<${word}>`)
    }
    stream.end()
    await once(stream.resume(), "end")
  })

  test.each([0, 1, 65_535, 3_000_000, 20_000_000])("carries %d bytes in both directions", async size => {
    const rig = await start(speaks, (request, response) => void request.pipe(response))
    const body = randomBytes(size)
    const answer = await ask(rig.connect(), { ":method": "POST", "content-length": size }, body)
    const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
    expect(answer.body.length).toBe(size)
    expect(hash(answer.body)).toBe(hash(body))
  })

  it("keeps its connection to the application", async () => {
    const rig = await start(speaks, mirror)
    let connections = 0
    rig.app.on(speaks === "h2c" ? "session" : "connection", () => connections++)
    const session = rig.connect()
    for (let index = 0; index < 10; index++) {
      await seen(session)
      await seen(session, { ":method": "POST" }, "unsized")
      await seen(session, { ":method": "POST", "content-length": "5" }, "sized")
    }
    expect(connections).toBe(1)
  })

  it("carries many requests at once", async () => {
    const rig = await start(speaks, mirror)
    const session = rig.connect()
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        seen(session, { ":method": "PUT", ":path": `/${index}` }, String(index)),
      ),
    )
    expect(answers.map(answer => answer.url + answer.body)).toEqual(
      Array.from({ length: 300 }, (_, index) => `/${index}${index}`),
    )
  })

  test.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ])("answers %s with %d and no content", async (method, status) => {
    const rig = await start(speaks, (_, response) => response.writeHead(status, { etag: '"x"' }).end())
    const answer = await ask(rig.connect(), { ":method": method })
    expect(answer).toMatchObject({ status, headers: { etag: '"x"' } })
    expect(answer.body.length).toBe(0)
    expect(answer.flags & constants.NGHTTP2_FLAG_END_STREAM).not.toBe(0)
  })

  it("keeps set-cookie lines apart and joins others in a response", async () => {
    const rig = await start(speaks, (_, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"])
      response.setHeader("vary", ["x", "y"])
      response.end()
    })
    const { headers } = await ask(rig.connect())
    expect(headers["set-cookie"]).toEqual(["a=1", "b=2"])
    expect(headers.vary).toBe("x, y")
    expect(headers.connection).toBeUndefined()
  })

  it("passes on 100 Continue of the application", async () => {
    const rig = await start(speaks, mirror)
    const stream = rig.connect().request({ ":method": "POST", expect: "100-continue" })
    await once(stream, "continue")
    stream.end("x")
    expect((await answerOf(stream)).status).toBe(200)
  })

  it("cancels at the application when the caller disconnects", async () => {
    let resultOf = (): void => undefined
    const aborted = new Promise<void>(resolve => {
      resultOf = resolve
    })
    const rig = await start(speaks, (request, response) => {
      response.writeHead(200).write("x")
      request.on("aborted", resultOf)
      response.on("close", resultOf)
    })
    const stream = rig.connect().request({ ":method": "GET" })
    await once(stream, "data")
    stream.close(constants.NGHTTP2_CANCEL)
    await aborted
  })

  it("resets the stream when the application breaks off its response", async () => {
    const rig = await start(speaks, (_, response) => {
      response.writeHead(200)
      response.write("x")
      setImmediate(() => response.destroy())
    })
    const stream = rig.connect().request()
    await closed(stream)
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    await rig.rig.meters.until(meters => meters.records.length === 1)
    expect(rig.rig.meters.records[0]?.upstreamFailure).toBe("reset")
  })

  it("does not complete a request that its client broke off", async () => {
    let whole: boolean | undefined
    const rig = await start(speaks, request => {
      request.on("end", () => {
        whole = request.complete
      })
      request.on("error", () => undefined).resume()
    })
    const stream = rig.connect().request({ ":method": "POST" })
    stream.write("half")
    await once(rig.app, "request")
    stream.close(constants.NGHTTP2_NO_ERROR)
    await rig.rig.meters.until(meters => meters.records.length === 1)
    expect(whole ?? false).toBe(false)
  })

  it("responds 503 with a reason when the application is down, and serves when it is back", async () => {
    const rig = await start(speaks, mirror)
    const address = rig.app.address()
    rig.app.close()
    const session = rig.connect()
    const { status, body } = await ask(session)
    expect(status).toBe(503)
    expect(body.toString()).toContain("upstream connect error")
    expect(rig.rig.meters.records[0]?.upstreamFailure).toBe("connect")
    rig.app.listen(address)
    await once(rig.app, "listening")
    expect((await ask(session)).status).toBe(200)
  })

  it("stops reading what a slow application does not read", async () => {
    let request: Parameters<AppListener>[0] | undefined
    const rig = await start(speaks, (incoming, response) => {
      request = incoming.pause()
      incoming.on("end", () => response.end("done"))
    })
    const stream = rig.connect().request({ ":method": "POST" })
    const size = 30_000_000
    stream.end(Buffer.alloc(size))
    await once(rig.app, "request")
    await new Promise(resolve => setTimeout(resolve, 300))
    // Buffers of the kernel and of both sessions hold some of it, but never most of it.
    expect(stream.bufferSize).toBeGreaterThan(size / 3)
    request?.resume()
    expect((await answerOf(stream)).body.toString()).toBe("done")
  })

  it("sends GOAWAY and finishes when it drains", async () => {
    let finish = (): void => undefined
    const rig = await start(speaks, (_, response) => {
      finish = () => response.end("late")
    })
    const session = rig.connect()
    const answer = ask(session)
    const goaway = once(session, "goaway")
    await once(rig.app, "request")
    rig.rig.connections.drainAll()
    await goaway
    finish()
    expect((await answer).body.toString()).toBe("late")
    await rig.rig.meters.until(meters => meters.open === 0)
  })

  it("serves curl, in cleartext and with a certificate", { tags: ["needs/curl"] }, async () => {
    const rig = await start(speaks, mirror)
    const folder = mkdtempSync(join(tmpdir(), "merlon-"))
    cleanups.push(() => rmSync(folder, { recursive: true }))
    const { certificate, privateKey } = authority.issue()
    writeFileSync(join(folder, "peer.pem"), certificate + privateKey)
    const curl = async (...args: string[]) => JSON.parse((await promisify(execFile)("curl", ["-sSg", ...args])).stdout)
    const clear = await curl("--http2-prior-knowledge", "-d", "x=1", `http://127.0.0.1:${rig.rig.port}/p?q`)
    expect(clear).toMatchObject({ method: "POST", url: "/p?q", body: "x=1" })
    const secure = await curl(
      "--http2",
      "-k",
      "--cert",
      join(folder, "peer.pem"),
      `https://127.0.0.1:${rig.rig.port}/s`,
    )
    expect(secure.headers["x-forwarded-client-cert"]).toContain(`URI=${GOOD_ID}`)
    expect(rig.rig.meters.records.map(record => record.protocol)).toEqual(["h2", "h2"])
  })
})
