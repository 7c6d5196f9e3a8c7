// SPDX-License-Identifier: Apache-2.0
// What the HTTP/1.1 path writes, read by an application that speaks HTTP/2 only.

import { createServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { afterEach, describe, expect, it, test } from "vitest"
import { RecordingMeters } from "../../accept/testing/recording-meters.js"
import { listening } from "../../accept/testing/rig.js"
import { Deadlines } from "../../http1/deadlines.js"
import { DEFAULT_LIMITS } from "../../limits.js"
import type { UpstreamListener, UpstreamRequest } from "../../upstream/exchange.js"
import { H2cApplication } from "./h2c.js"
import { H2cUpstream, type UpstreamCall } from "./h2c-upstream.js"

const cleanups: (() => unknown)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup()
})

async function start(app: (request: Http2ServerRequest, response: Http2ServerResponse) => void): Promise<H2cUpstream> {
  const server = createServer(app)
  const address = { host: "127.0.0.1", port: await listening(server) }
  const limits = DEFAULT_LIMITS
  const application = new H2cApplication({
    address,
    limits,
    meters: new RecordingMeters(),
    deadlines: new Deadlines(limits),
  })
  cleanups.push(
    () => server.close(),
    () => application.close(),
  )
  return new H2cUpstream(application)
}

interface Told {
  readonly status: number
  readonly framing: string
  readonly headers: readonly string[]
  readonly body: string
  readonly trailers: string | undefined
}

/** Sends, and gathers what a forwarder would be told. */
function exchange(upstream: H2cUpstream, request: UpstreamRequest, write: (call: UpstreamCall) => void): Promise<Told> {
  return new Promise((resolve, reject) => {
    let told: Omit<Told, "body" | "trailers"> = { status: 0, framing: "", headers: [] }
    let body = ""
    const listener: UpstreamListener = {
      onInformational: () => undefined,
      onResponse: ({ status, headers, framing }) => {
        const names = Array.from(
          { length: headers.size },
          (_, index) => `${headers.name(index)}: ${headers.value(index)}`,
        )
        told = { status, framing: framing.kind, headers: names.filter(line => !line.startsWith("date:")) }
      },
      onContent: (bytes, from, to) => {
        body += bytes.toString("latin1", from, to)
      },
      onEnd: trailers => resolve({ ...told, body, trailers: trailers?.get("x-sum")?.[0] }),
      onFailure: failure => reject(new Error(failure)),
      onPause: () => undefined,
      onWritable: () => undefined,
    }
    const call = upstream.send(request, listener)
    write(call)
    call.flush()
    call.end()
  })
}

const mirror = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
  let body = ""
  request.on("data", chunk => {
    body += chunk
  })
  request.on("end", () => {
    const { method, url, headers, trailers } = request
    response.setHeader("trailer", "x-sum")
    response.write(
      JSON.stringify({ method, url, body, authority: headers[":authority"], upgrade: headers.upgrade ?? null }),
    )
    response.addTrailers({ "x-sum": String(trailers["x-check"] ?? "none") })
    response.end()
  })
}

describe("a request written for HTTP/1.1", () => {
  test.each<[string, string, boolean, (call: UpstreamCall) => void, string, string]>([
    ["without content", "GET /a HTTP/1.1\r\nhost: h:1\r\n\r\n", false, () => undefined, "", "none"],
    [
      "with a length",
      "POST /a HTTP/1.1\r\nhost: h:1\r\ncontent-length: 5\r\n\r\n",
      true,
      call => call.bytes(Buffer.from("-hello-"), 1, 6, true),
      "hello",
      "none",
    ],
    [
      "in chunks with trailers",
      "POST /a HTTP/1.1\r\nhost: h:1\r\ntransfer-encoding: chunked\r\n\r\n",
      true,
      call => {
        call.text("3\r\nhel\r\n2")
        call.text("\r\nlo\r\n0\r\nx-check: 42\r\n\r\n")
      },
      "hello",
      "42",
    ],
    [
      "asking for another protocol",
      "GET /a HTTP/1.1\r\nhost: h:1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      false,
      () => undefined,
      "",
      "none",
    ],
  ])("%s", async (_, head, hasBody, write, body, sum) => {
    const upstream = await start(mirror)
    const method = head.slice(0, head.indexOf(" "))
    const told = await exchange(upstream, { method, head, hasBody, upgrade: false }, write)
    expect(told).toMatchObject({ status: 200, framing: "chunked", trailers: sum })
    expect(JSON.parse(told.body)).toEqual({ method, url: "/a", body, authority: "h:1", upgrade: null })
  })
})

describe("a response is framed for HTTP/1.1", () => {
  const get = { method: "GET", head: "GET / HTTP/1.1\r\nhost: a\r\n\r\n", hasBody: false, upgrade: false }

  it("by its length where it has one", async () => {
    const upstream = await start((_, response) => void response.writeHead(200, { "content-length": "2" }).end("ok"))
    const told = await exchange(upstream, get, () => undefined)
    expect(told).toMatchObject({ framing: "length", body: "ok", headers: ["content-length: 2"] })
  })

  it("in chunks where it has none, even without content", async () => {
    const upstream = await start((_, response) => void response.end())
    expect(await exchange(upstream, get, () => undefined)).toMatchObject({ framing: "chunked", body: "" })
  })

  it("as nothing where there can be none", async () => {
    const upstream = await start((_, response) => void response.writeHead(304).end())
    expect(await exchange(upstream, get, () => undefined)).toMatchObject({ status: 304, framing: "none" })
  })

  it("as a failure where the application breaks off", async () => {
    const upstream = await start((_, response) => {
      response.stream.close(2)
    })
    await expect(exchange(upstream, get, () => undefined)).rejects.toThrow("reset")
  })
})
