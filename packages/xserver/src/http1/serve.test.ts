// SPDX-License-Identifier: Apache-2.0
// Ordinary traffic through the handler, by third-party clients.
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http"
import { promisify } from "node:util"
import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it, test } from "vitest"
import { Rig, type RigOptions } from "./testing/rig.js"

const run = promisify(execFile)
let rig: Rig
afterEach(() => rig.stop())

const start = async (options: RigOptions = {}): Promise<void> => {
  rig = await Rig.start(options)
}

async function answer(sent: ClientRequest): Promise<IncomingMessage & { body: Buffer }> {
  const [incoming]: IncomingMessage[] = await once(sent, "response")
  if (incoming === undefined) throw new Error("no response")
  const body: Buffer[] = []
  for await (const chunk of incoming) body.push(chunk)
  return Object.assign(incoming, { body: Buffer.concat(body) })
}

const ask = (options: RequestOptions = {}, body?: string | Buffer) => {
  const sent = request({ host: "127.0.0.1", port: rig.port, ...options })
  sent.end(body)
  return answer(sent)
}

describe("requests and responses", () => {
  it("pass unchanged if nothing has to change", async () => {
    await start({
      application: (incoming, reply) => {
        reply.setHeader("X-App", ["a", "b"])
        reply.statusMessage = "Fine"
        reply.end([incoming.method, incoming.url, incoming.headers["x-mine"], incoming.headers.host].join(" "))
      },
    })
    const { statusCode, statusMessage, rawHeaders, body } = await ask({
      path: "/a?b=c",
      headers: { "X-Mine": "1", host: "app.foo:8000" },
    })
    expect({ statusCode, statusMessage }).toEqual({ statusCode: 200, statusMessage: "Fine" })
    expect(rawHeaders.join()).toContain("X-App,a,X-App,b")
    expect(rawHeaders.join().toLowerCase()).not.toContain("keep-alive: timeout")
    expect(body.toString()).toBe("GET /a?b=c 1 app.foo:8000")
  })

  it("share one connection to the application and one from the client, one after the other", async () => {
    const ports = new Set<number | undefined>()
    await start({
      application: (incoming, reply) => {
        ports.add(incoming.socket.remotePort)
        reply.end("x")
      },
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let round = 0; round < 20; round++) expect((await ask({ agent })).body.toString()).toBe("x")
    agent.destroy()
    expect(ports.size).toBe(1)
    expect(rig.meters.records.length).toBe(20)
    expect(rig.meters.records[0]).toMatchObject({
      protocol: "http/1.1",
      method: "GET",
      path: "/",
      status: 200,
      bytesSent: 1,
      port: 8080,
      decisionId: undefined,
      judgement: { verdict: "allow" },
    })
    await eventually(() => rig.connections.size === 0)
  })

  it("are answered in the order in which they were pipelined", async () => {
    await start({
      application: (incoming, reply) => {
        setTimeout(() => reply.end(incoming.url), incoming.url === "/0" ? 20 : 0)
      },
    })
    const client = await rig.client()
    const paths = Array.from({ length: 40 }, (_, index) => `/${index}`)
    client.send(paths.map(path => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""))
    for (const path of paths) expect(await client.response()).toMatch(new RegExp(`\r\n\r\n${path}$`))
  })

  it("work for curl, over HTTP/1.1 and HTTP/1.0", { tags: ["needs/curl"] }, async () => {
    await start({ application: (_, reply) => reply.end("hello") })
    for (const version of ["--http1.1", "--http1.0"]) {
      const { stdout } = await run("curl", ["-sS", version, `${rig.url}/`, `${rig.url}/`])
      expect(stdout).toBe("hellohello")
    }
  })

  it("keep an HTTP/1.0 client's connection if it asks for that and content has a length", async () => {
    await start({
      application: (incoming, reply) => {
        if (incoming.url === "/length") reply.setHeader("content-length", 5)
        reply.write("he")
        reply.end("llo")
      },
    })
    const client = await rig.client()
    client.send("GET /length HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    expect(await client.response()).toMatch(/connection: keep-alive\r\n[\s\S]*hello$/)
    client.send("GET /chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    const last = await client.all()
    expect(last).toMatch(/connection: close\r\n\r\nhello$/)
    expect(last).not.toMatch(/chunked/)
  })

  it("are forwarded to the host in the target if there is one", async () => {
    await start({ application: (incoming, reply) => reply.end(`${incoming.headers.host} ${incoming.url}`) })
    const client = await rig.client()
    client.send("GET http://other:1/x HTTP/1.1\r\nHost: a\r\n\r\n")
    expect(await client.response()).toMatch(/other:1 \/x$/)
  })

  it("answer HEAD with the headers alone", async () => {
    await start({
      application: (incoming, reply) => {
        if (incoming.url === "/length") reply.setHeader("content-length", 5)
        reply.end(incoming.method === "HEAD" ? undefined : "hello")
      },
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const head = await ask({ agent, method: "HEAD", path: "/length" })
    expect(head.headers["content-length"]).toBe("5")
    expect((await ask({ agent, method: "HEAD", path: "/chunked" })).body.length).toBe(0)
    expect((await ask({ agent, path: "/length" })).body.toString()).toBe("hello")
    agent.destroy()
  })

  test.each([204, 304])("of status %i have no content", async status => {
    await start({ application: (_, reply) => reply.writeHead(status, { "x-a": "b" }).end() })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let round = 0; round < 3; round++) {
      expect(await ask({ agent })).toMatchObject({ statusCode: status, headers: { "x-a": "b" } })
    }
    agent.destroy()
  })

  it("pass on 103 and 100 before the response", async () => {
    await start({
      application: (incoming, reply) => {
        reply.writeEarlyHints({ link: "</a.css>; rel=preload" })
        incoming.resume().on("end", () => reply.end("done"))
      },
    })
    const sent = request({ host: "127.0.0.1", port: rig.port, method: "POST", headers: { expect: "100-continue" } })
    const seen: number[] = []
    sent.on("information", ({ statusCode }) => seen.push(statusCode))
    sent.on("continue", () => sent.end("content"))
    sent.flushHeaders()
    expect((await answer(sent)).body.toString()).toBe("done")
    expect(seen).toEqual([100, 103])
  })

  it("do not wait for each other if the application does not send 100", async () => {
    await start({
      raw: socket => {
        let text = ""
        socket.on("data", chunk => {
          text += chunk.toString("latin1")
          if (text.endsWith("content")) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        })
      },
    })
    const client = await rig.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n")
    client.send("content")
    expect(await client.response()).toMatch(/ok$/)
  })

  it("carry trailers both ways, without those that could be taken for headers", async () => {
    await start({
      application: (incoming, reply) => {
        incoming.resume().on("end", () => {
          reply.writeHead(200, { trailer: "x-sum" })
          reply.write("content")
          reply.addTrailers({ "x-sum": JSON.stringify(incoming.trailers) })
          reply.end()
        })
      },
    })
    const sent = request({ host: "127.0.0.1", port: rig.port, method: "POST", headers: { trailer: "x-a" } })
    sent.write("x")
    sent.addTrailers({ "x-a": "1", authorization: "Bearer x", "x-forwarded-client-cert": "URI=spiffe://x" })
    sent.end()
    const { body, trailers } = await answer(sent)
    expect(body.toString()).toBe("content")
    expect(JSON.parse(trailers["x-sum"] ?? "")).toEqual({ "x-a": "1" })
  })
})

describe("content", () => {
  const MB = 1024 * 1024
  const sizes = [0, 1, 4_095, 4_096, 4_097, 16_384, 65_535, 65_536, 65_537, 300_000, 20 * MB]
  const echo: NonNullable<RigOptions["application"]> = (incoming, reply) => {
    const length = incoming.headers["content-length"]
    if (length !== undefined && incoming.url === "/length") reply.setHeader("content-length", length)
    if (incoming.url === "/close") {
      reply.setHeader("connection", "close")
      reply.useChunkedEncodingByDefault = false
    }
    incoming.pipe(reply)
  }
  const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")

  test.each(["/length", "/chunked", "/close"])("is echoed unchanged, framed as %s", async path => {
    await start({ application: echo })
    const agent = new Agent({ keepAlive: true })
    for (const size of sizes) {
      const content = randomBytes(size)
      for (const chunked of [true, false]) {
        const headers = chunked ? { "transfer-encoding": "chunked" } : { "content-length": size }
        const { body } = await ask({ agent, path, method: "POST", headers }, content)
        expect(body.length).toBe(size)
        expect(digest(body)).toBe(digest(content))
      }
    }
    agent.destroy()
  })

  it("waits in the kernel, not in memory, if the client does not read", async () => {
    let written = 0
    const TOTAL = 200 * MB
    await start({
      application: (_, reply) => {
        reply.setHeader("content-length", TOTAL)
        const block = Buffer.alloc(MB)
        const more = () => {
          while (written < TOTAL && !reply.destroyed) {
            written += block.length
            if (!reply.write(block)) {
              reply.once("drain", more)
              return
            }
          }
        }
        more()
      },
    })
    const client = await rig.client()
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await client.until(({ received }) => received.length > 0)
    client.socket.pause()
    let before = -1
    // Waits until nothing is transferred any more: everything in flight is then in kernel buffers and one bounded
    // queue.
    while (before !== written) {
      before = written
      for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setTimeout(resolve, 2))
    }
    expect(written).toBeLessThan(TOTAL / 2)
    client.socket.destroy()
    await rig.meters.until(({ records }) => records.length === 1)
  })

  it("waits in the kernel, not in memory, if the application does not read", async () => {
    await start({ raw: socket => socket.pause(), limits: { bodyIdleTimeoutMs: 1_000 } })
    const client = await rig.client()
    client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${200 * MB}\r\n\r\n`)
    let taken = 0
    const block = Buffer.alloc(MB)
    const push = () => {
      client.socket.write(block, error => {
        // After a failed write each further one fails at once, so the loop would never end.
        if (error != null || client.socket.destroyed) return
        taken += block.length
        push()
      })
    }
    push()
    // Nothing moves, so the application times out in the end. Only then is the rest read, and dropped.
    await rig.meters.until(({ records }) => records.length === 1)
    expect(taken).toBeLessThan(100 * MB)
    expect(rig.meters.records[0]).toMatchObject({ status: 504 })
    expect(rig.meters.limits).toContain("bodyIdleTimeoutMs")
    await eventually(() => rig.upstream.connections === 0)
    client.socket.destroy()
  })
})
