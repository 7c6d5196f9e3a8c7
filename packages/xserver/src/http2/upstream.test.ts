// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 clients of an application that speaks HTTP/2 in cleartext.
import { once } from "node:events"
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2"
import { afterEach, expect, it, test } from "vitest"
import { Rig } from "../http1/testing/rig.js"

let rig: Rig
let application: Http2Server
afterEach(async () => {
  await rig.stop()
  application.close()
})

async function start(serve: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void): Promise<void> {
  application = createServer()
  application.on("stream", (stream, headers) => {
    stream.on("error", () => undefined)
    serve(stream, headers)
  })
  application.on("session", session => session.on("error", () => undefined))
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  const address = application.address()
  rig = await Rig.start({ h2c: typeof address === "object" && address !== null ? address.port : 0 })
}

it("translates requests and responses between the versions", async () => {
  await start((stream, headers) => {
    let content = ""
    stream.on("data", chunk => {
      content += String(chunk)
    })
    stream.on("end", () => {
      const asked = [headers[":method"], headers[":path"], headers[":authority"], headers["x-a"], content]
      stream.respond({ ":status": 201, "x-b": "c" })
      stream.end(asked.join(" "))
    })
  })
  const client = await rig.client()
  for (let round = 0; round < 2; round++) {
    client.send(
      "POST /p?q HTTP/1.1\r\nHost: h:1\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    )
  }
  await client.until(({ received }) => (received.match(/\r\n0\r\n\r\n/g) ?? []).length === 2)
  expect(client.received).toMatch(/^HTTP\/1.1 201 \r\n[\s\S]*x-b: c\r\n[\s\S]*POST \/p\?q h:1 1 hello/)
})

it("carries trailers and large content", async () => {
  const block = Buffer.alloc(3_000_000, "x")
  await start(stream => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true })
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "1" }))
    stream.end(block)
  })
  const client = await rig.client()
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
  await client.until(({ received }) => received.endsWith("0\r\nx-sum: 1\r\n\r\n"))
  expect(client.received.match(/x/g)?.length).toBeGreaterThanOrEqual(block.length)
})

test.each([
  ["HEAD", { ":status": 200, "content-length": "5" }, "", /^HTTP\/1.1 200 [\s\S]*content-length: 5\r\n/],
  ["GET", { ":status": 204 }, "", /^HTTP\/1.1 204 /],
  ["GET", { ":status": 200, "content-length": "5" }, "hello", /\r\n\r\nhello$/],
])("frames the response to %s with %j", async (method, headers, content, expected) => {
  await start(stream => {
    stream.respond(headers)
    stream.end(content)
  })
  const client = await rig.client()
  client.send(`${method} / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
  expect(await client.all()).toMatch(expected)
})

it("does not switch protocols", async () => {
  await start((stream, headers) => {
    stream.respond({ ":status": 200, "content-length": "1" })
    stream.end(headers.upgrade === undefined ? "n" : "y")
  })
  const client = await rig.client()
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
  expect(await client.response()).toMatch(/n$/)
})

it("reports an application that is down", async () => {
  await start(() => undefined)
  await new Promise(done => application.close(done))
  const client = await rig.client()
  expect(await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n").response()).toMatch(/^HTTP\/1.1 503 /)
  expect(rig.meters.records).toMatchObject([{ upstreamFailure: "connect" }])
})
