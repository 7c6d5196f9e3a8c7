// SPDX-License-Identifier: Apache-2.0
// Peers that break off, disconnect, stall or send garbage: no other client is affected, nothing is left behind, and
// half a message never looks complete.
import { once } from "node:events"
import type { Socket } from "node:net"
import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it, test } from "vitest"
import { Rig, type RigOptions } from "./testing/rig.js"

let rig: Rig
afterEach(() => rig.stop())

const start = async (options: RigOptions = {}): Promise<void> => {
  rig = await Rig.start(options)
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/** Writes `text` whenever bytes arrive. */
const answering = (text: string) => (socket: Socket) => socket.on("data", () => socket.write(text, "latin1"))
const idle = () => eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)

describe("a malformed request", () => {
  test.each([
    ["GET / HTTP/1.1\r\n\r\n", 400],
    ["GET / HTTP/1.1\nHost: a\n\n", 400],
    ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400],
    ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400],
    ["CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405],
    ["get / HTTP/1.1\r\nHost: a\r\n\r\n", 501],
    ["GET / HTTP/1.9\r\nHost: a\r\n\r\n", 505],
  ])("%j gets %i, a decision id and the end of the connection", async (text, status) => {
    await start({ application: (incoming, reply) => incoming.resume().on("end", () => reply.end("x")) })
    const client = await rig.client()
    const received = await client.send(`${text}${GET}`).all()
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*x-merlon-decision: [0-9a-f]{20}\r\n`))
    expect(received).toMatch(/connection: close\r\n/)
    expect(received.split("HTTP/1.1 ").length).toBe(2)
    expect(rig.meters.records).toMatchObject([{ status, decisionId: expect.stringMatching(/^[0-9a-f]{20}$/) }])
    client.socket.end()
    await eventually(() => rig.connections.size === 0)
  })

  it("gets 431 if its head is too large, and the limit is counted", async () => {
    await start({ limits: { headerBytes: 1_000, headerLines: 5 } })
    const large = await rig.client()
    expect(await large.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(2_000)}`).all()).toMatch(/^HTTP\/1.1 431 /)
    const many = await rig.client()
    expect(await many.send(`GET / HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(5)}\r\n`).all()).toMatch(/^HTTP\/1.1 431 /)
    expect(rig.meters.limits).toEqual(["headerBytes", "headerLines"])
  })

  it("does not disturb the response to an earlier request", async () => {
    await start({ raw: answering(OK) })
    const client = await rig.client()
    const received = await client.send(`${GET}GARBAGE\r\n\r\n`).all()
    expect(received).toMatch(/^HTTP\/1.1 200 OK[\s\S]*okHTTP\/1.1 400 /)
  })
})

describe("a slow client", () => {
  it("gets 408 if its headers take too long", async () => {
    await start({ limits: { headerTimeoutMs: 40 } })
    const client = await rig.client()
    expect(await client.send("GET / HTTP/1.1\r\nHost:").all()).toMatch(/^HTTP\/1.1 408 /)
    expect(rig.meters.limits).toEqual(["headerTimeoutMs"])
  })

  it("gets 408 if its content stops coming", async () => {
    await start({ limits: { bodyIdleTimeoutMs: 40 }, application: incoming => incoming.resume() })
    const client = await rig.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
    expect(await client.all()).toMatch(/^HTTP\/1.1 408 [\s\S]*connection: close/)
    expect(rig.meters.limits).toEqual(["bodyIdleTimeoutMs"])
    client.socket.end()
    await idle()
  })

  it("is disconnected after a long silence", async () => {
    await start({ limits: { keepAliveTimeoutMs: 40 }, raw: answering(OK) })
    const client = await rig.client()
    client.send(GET)
    expect(await client.response()).toMatch(/ok$/)
    expect(await client.all()).toBe("")
    expect(rig.meters.limits).toEqual([])
  })

  it("is disconnected if it never sends anything", async () => {
    await start({ limits: { headerTimeoutMs: 40 }, hand: "untouched" })
    const client = await rig.client()
    expect(await client.all()).toBe("")
  })
})

describe("a client that disconnects", () => {
  it("ends its request before the response", async () => {
    let aborted = false
    await start({
      application: incoming => {
        incoming.socket.on("close", () => {
          aborted = true
        })
      },
    })
    const client = await rig.client()
    client.send(GET)
    await eventually(() => rig.upstream.connections === 1)
    client.socket.resetAndDestroy()
    await eventually(() => aborted)
    await idle()
    expect(rig.meters.records).toMatchObject([{ status: 0 }])
  })

  it("ends its request in the middle of its content", async () => {
    let aborted = false
    await start({
      application: incoming => {
        incoming.resume().on("error", () => undefined)
        incoming.on("close", () => {
          aborted = !incoming.complete
        })
      },
    })
    const client = await rig.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await eventually(() => rig.upstream.connections === 1)
    client.socket.end()
    await eventually(() => aborted)
    await idle()
  })

  it("ends its request in the middle of the response", async () => {
    let aborted = false
    await start({
      application: (_, reply) => {
        const timer = setInterval(() => reply.write("x"), 1)
        reply.on("close", () => {
          clearInterval(timer)
          aborted = true
        })
      },
    })
    const client = await rig.client()
    client.send(GET)
    await client.until(({ received }) => received.includes("\r\n\r\n"))
    client.socket.destroy()
    await eventually(() => aborted)
    await idle()
    expect(rig.meters.records).toMatchObject([{ status: 200 }])
  })

  it("still gets its response if it has only ended its side", async () => {
    await start({ application: (_, reply) => setTimeout(() => reply.end("late"), 20) })
    const client = await rig.client()
    client.send(`${GET}${GET}`)
    client.socket.end()
    const received = await client.all()
    expect(received.match(/late/g)?.length).toBe(2)
    expect(rig.meters.records.map(record => record.status)).toEqual([200, 200])
    await eventually(() => rig.connections.size === 0)
  })
})

describe("a client that has ended its side", () => {
  test.each(["GET /b HTTP/1.1\r\nHost", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"])(
    "is not waited for if it left %j unfinished",
    async unfinished => {
      await start({
        application: (incoming, reply) => incoming.resume().on("end", () => setTimeout(() => reply.end("late"), 20)),
      })
      const client = await rig.client()
      client.send(`${GET}${unfinished}`)
      client.socket.end()
      expect(await client.all()).toMatch(/late$/)
      await eventually(() => rig.connections.size === 0)
    },
  )
})

describe("an application", () => {
  it("that responds 503 itself cannot claim that it has not seen the request", async () => {
    const fields = "X-Merlon-Failure: not-forwarded\r\nX-Own: 1\r\nContent-Length: 2\r\n"
    await start({ raw: answering(`HTTP/1.1 503 Service Unavailable\r\n${fields}\r\nno`) })
    const answer = await (await rig.client()).send(GET).response()
    expect(answer).toMatch(/^HTTP\/1.1 503 [\s\S]*x-own: 1[\s\S]*no$/i)
    expect(answer).not.toMatch(/x-merlon-failure/i)
  })

  it("that closes the connection may have seen the request, and the failure header says so", async () => {
    await start({ raw: socket => socket.on("data", () => socket.destroy()) })
    const answer = await (await rig.client()).send(GET).response()
    expect(answer).toMatch(/^HTTP\/1.1 503 /)
    expect(answer).toMatch(/\r\nx-merlon-failure: reset\r\n/)
  })

  it("that is down causes 503, and is used again when it is up", async () => {
    await start({ raw: answering(OK) })
    const address = rig.application.address()
    await rig.stopApplication()
    const client = await rig.client()
    const rejected = await client.send(GET).response()
    expect(rejected).toMatch(/^HTTP\/1.1 503 Service Unavailable\r\ncontent-type: text\/plain\r\n/)
    expect(rejected).toMatch(/upstream connect error: the application accepts no connection$/)
    expect(rejected).toMatch(/\r\nx-merlon-failure: not-forwarded\r\n/)
    expect(rejected).not.toMatch(/x-merlon-decision|connection: close/)
    expect(rig.meters.records).toMatchObject([{ status: 503, upstreamFailure: "connect" }])
    rig.application.listen(address)
    await once(rig.application, "listening")
    expect(await client.send(GET).response()).toMatch(/ok$/)
  })

  test.each([
    ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 502, "protocol"],
    ["HTTP/1.1 200 OK\nContent-Length: 1\n\nx", 502, "protocol"],
    ["HTTP/1.1 101 Switching Protocols\r\n\r\n", 502, "protocol"],
    ["nonsense\r\n\r\n", 502, "protocol"],
  ])("that responds %j causes %i", async (text, status, upstreamFailure) => {
    await start({ raw: answering(text) })
    const client = await rig.client()
    expect(await client.send(GET).response()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(rig.meters.records).toMatchObject([{ status, upstreamFailure }])
    await eventually(() => rig.upstream.connections === 0)
  })

  it("that hangs up before it responds causes 503", async () => {
    await start({ raw: socket => socket.on("data", () => socket.destroy()) })
    const client = await rig.client()
    expect(await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").response()).toMatch(
      /^HTTP\/1.1 503 /,
    )
    expect(rig.meters.records).toMatchObject([{ status: 503, upstreamFailure: "reset" }])
  })

  it("that does not respond in time causes 504", async () => {
    await start({ raw: socket => socket.resume(), limits: { responseTimeoutMs: 40 } })
    const client = await rig.client()
    expect(await client.send(GET).response()).toMatch(/^HTTP\/1.1 504 /)
    expect(rig.meters.records).toMatchObject([{ status: 504, upstreamFailure: "response-timeout" }])
    expect(rig.meters.limits).toEqual(["responseTimeoutMs"])
    await eventually(() => rig.upstream.connections === 0)
  })

  test.each([
    ["100 Continue", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["103 Early Hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-"],
  ])("that sends nothing but %s causes 504", async (_, text) => {
    await start({ raw: answering(text), limits: { responseTimeoutMs: 40 } })
    const client = await rig.client()
    await client.send(GET).until(({ received }) => received.includes("HTTP/1.1 504 "))
    expect(rig.meters.records).toMatchObject([{ status: 504, upstreamFailure: "response-timeout" }])
    await eventually(() => rig.upstream.connections === 0)
  })

  test.each([
    ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"],
    ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["a malformed chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"],
  ])("that breaks off content with %s leaves it visibly incomplete", async (_, text) => {
    await start({ raw: socket => socket.on("data", () => socket.end(text)) })
    const client = await rig.client()
    const received = await client.send(GET).all()
    expect(received).toMatch(/half(\r\n)?$/)
    await client.until(({ closed, ended }) => closed || ended)
    client.socket.destroy()
    await idle()
  })

  it("may end content by closing its connection", async () => {
    await start({ raw: socket => socket.on("data", () => socket.end("HTTP/1.0 200 OK\r\n\r\nwhole")) })
    const client = await rig.client()
    client.send(GET)
    await client.until(({ received }) => received.endsWith("0\r\n\r\n"))
    expect(client.received).toMatch(/transfer-encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n$/)
  })

  it("that stops in the middle of a response is disconnected", async () => {
    await start({
      raw: answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
      limits: { bodyIdleTimeoutMs: 40 },
    })
    const client = await rig.client()
    expect(await client.send(GET).all()).toMatch(/half$/)
    await idle()
    expect(rig.meters.limits).toEqual(["bodyIdleTimeoutMs"])
  })

  it("that sends more than was requested does not answer the next request with it", async () => {
    await start({ raw: answering(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`) })
    const client = await rig.client()
    for (let round = 0; round < 3; round++) expect(await client.send(GET).response()).toMatch(/ok$/)
  })

  test.each([
    ["HEAD", "200 OK\r\nContent-Length: 9"],
    ["HEAD", "200 OK\r\nTransfer-Encoding: chunked"],
    ["GET", "204 No Content\r\nContent-Length: 9"],
    ["GET", "304 Not Modified\r\nContent-Length: 9"],
  ])(
    "that sends content after a head that allows none, to %s with %j, answers no other request with it",
    async (method, head) => {
      let first: Socket | undefined
      await start({
        raw: socket => {
          socket.on("data", () => {
            if (first === undefined) {
              first = socket
              socket.write(`HTTP/1.1 ${head}\r\n\r\n`)
            } else if (first === socket) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            else socket.write(OK)
          })
        },
      })
      const one = await rig.client()
      await one.send(GET.replace("GET", method)).until(({ received }) => received.endsWith("\r\n\r\n"))
      const other = await rig.client()
      expect(await other.send(GET).response()).toMatch(/ok$/)
    },
  )

  it("that responds before the content has arrived ends the connection after its response", async () => {
    await start({ application: (_, reply) => reply.writeHead(413).end("too much") })
    const client = await rig.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
    await client.until(({ ended }) => ended)
    expect(client.received).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close\r\n/)
    expect(client.received).toMatch(/too much/)
    client.send("y".repeat(100_000))
    client.socket.end()
    await idle()
  })
})
