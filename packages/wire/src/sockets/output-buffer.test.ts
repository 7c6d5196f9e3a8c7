// SPDX-License-Identifier: Apache-2.0

import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls, createServer as createTlsServer } from "node:tls"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { until } from "../http/testing/calls.js"
import { TestAuthority } from "../tls/testing/certificates.js"
import { lentChunks, OutputBuffer } from "./output-buffer.js"

let server: Server
let accepted: (socket: Socket) => void = () => undefined

beforeAll(async () => {
  server = createServer(socket => accepted(socket)).listen(0, "127.0.0.1")
  await once(server, "listening")
})

afterAll(() => {
  server.close()
})

async function pair(): Promise<readonly [near: Socket, far: Socket]> {
  const far = new Promise<Socket>(resolve => {
    accepted = resolve
  })
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1") // TCP servers have this form
  near.on("error", () => undefined)
  await once(near, "connect")
  return [near, await far]
}

describe("buffered output", () => {
  const size = fc.oneof(fc.nat(20), fc.integer({ min: 4_090, max: 4_100 }), fc.nat(90_000))
  const step = fc.record({ what: fc.constantFrom("text", "bytes", "flush"), size })

  it("arrives complete and in order, whatever its pieces", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
        const [near, far] = await pair()
        const arrived: Buffer[] = []
        far.on("data", part => arrived.push(part))
        const output = new OutputBuffer(near)
        const sent: Buffer[] = []
        const borrowed = Buffer.alloc(100_000)
        for (const [n, { what, size: length }] of steps.entries()) {
          const bytes = Buffer.alloc(length, n + 1)
          if (what === "flush") output.flush()
          else sent.push(bytes)
          if (what === "text") output.text(bytes.toString("latin1"))
          if (what !== "bytes") continue
          bytes.copy(borrowed, 7)
          output.bytes(borrowed, 7, 7 + length)
          borrowed.fill(0)
        }
        output.flush()
        near.end()
        await once(far, "end")
        expect(Buffer.concat(arrived).equals(Buffer.concat(sent))).toBe(true)
        far.destroy()
      }),
      { numRuns: 50 },
    )
    await until(() => lentChunks() === 0)
  })

  it("is sent in one write, even if it came in several reads of one tick", async () => {
    const [near, far] = await pair()
    const writes: number[] = []
    const write = near._write.bind(near)
    near._write = (chunk, encoding, done) => {
      writes.push(chunk.length)
      write(chunk, encoding, done)
    }
    const output = new OutputBuffer(near)
    output.flushSoon()
    for (let n = 0; n < 4; n++) {
      output.bytes(Buffer.alloc(16_000), 0, 16_000)
      output.flushSoon()
    }
    expect(writes).toEqual([])
    await new Promise(setImmediate)
    expect(writes).toEqual([64_000])
    near.destroy()
    far.destroy()
  })

  it("is not copied into another buffer while a TLS socket is writing, and arrives complete", async () => {
    const authority = await TestAuthority.create()
    const tls = createTlsServer(await authority.issue("spiffe://test/server")).listen(0, "127.0.0.1")
    await once(tls, "listening")
    const { port } = tls.address() as AddressInfo // TCP servers have this form
    const near = connectTls({ host: "127.0.0.1", port, ca: authority.ca, checkServerIdentity: () => undefined })
    const [far]: Socket[] = await once(tls, "secureConnection")
    const arrived: Buffer[] = []
    far?.on("data", part => arrived.push(part))
    const joined: number[] = []
    const writev = near._writev?.bind(near)
    near._writev = (chunks, done) => {
      joined.push(chunks.length)
      writev?.(chunks, done)
    }
    const output = new OutputBuffer(near)
    const sent = Array.from({ length: 6 }, (_, n) => Buffer.alloc(70_000, n + 1))
    for (const part of sent) {
      output.bytes(part, 0, part.length)
      output.flush()
    }
    near.end()
    await once(far ?? near, "end")
    expect(joined).toEqual([])
    expect(Buffer.concat(arrived).equals(Buffer.concat(sent))).toBe(true)
    tls.close()
  })

  it("never exceeds its chunks for peers that do not read, and frees them when the peers disconnect", async () => {
    const pairs: (readonly [Socket, Socket])[] = []
    for (let n = 0; n < 160; n++) pairs.push(await pair())
    const content = Buffer.alloc(60_000)
    for (const [near, far] of pairs) {
      far.pause()
      const output = new OutputBuffer(near)
      // More than the system buffers for a peer that does not read.
      for (let n = 0; n < 200 && near.writableLength < 100_000; n++) {
        output.bytes(content, 0, content.length)
        output.flush()
      }
      expect(near.writableLength).toBeGreaterThan(0)
    }
    expect(lentChunks()).toBe(128)
    for (const [near, far] of pairs) {
      near.destroy()
      far.destroy()
    }
    await until(() => lentChunks() === 0)
  }, 60_000)
})
