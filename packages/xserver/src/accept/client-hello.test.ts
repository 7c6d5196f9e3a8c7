// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { connect } from "node:tls"
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { MAX_CLIENT_HELLO, parseClientHello } from "./client-hello.js"

/** The first bytes that another TLS client sends. */
async function captured(start: (port: number) => { end(): void }): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  const client = start(address.port)
  const [socket]: Socket[] = await once(server, "connection")
  if (socket === undefined) throw new Error("no connection")
  const chunks: Buffer[] = []
  for await (const chunk of socket) {
    chunks.push(chunk)
    if (parseClientHello(Buffer.concat(chunks)).kind !== "more") break
  }
  client.end()
  server.close()
  return Buffer.concat(chunks)
}

function byNode(options: { servername?: string; ALPNProtocols?: string[]; maxVersion?: "TLSv1.2" }): Promise<Buffer> {
  return captured(port => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }).on(
      "error",
      () => undefined,
    )
    return { end: () => socket.destroy() }
  })
}

function byOpenssl(...args: string[]): Promise<Buffer> {
  return captured(port => {
    const process = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${port}`, ...args], { stdio: "ignore" })
    return { end: () => process.kill() }
  })
}

type Hello = [string, () => Promise<Buffer>, string | undefined, string[]]

describe("reads the hello of", () => {
  test.each<Hello>([
    ["node, bare", () => byNode({}), undefined, []],
    [
      "node with everything",
      () => byNode({ servername: "a.b", ALPNProtocols: ["merlon", "h2"] }),
      "a.b",
      ["merlon", "h2"],
    ],
    ["node, TLS 1.2", () => byNode({ servername: "a.b", maxVersion: "TLSv1.2" }), "a.b", []],
  ])("%s, whole and cut at every byte", checkHello)

  test.each<Hello>([
    ["openssl", () => byOpenssl("-servername", "x.y", "-alpn", "merlon-h2,http/1.1"), "x.y", ["merlon-h2", "http/1.1"]],
    ["openssl, TLS 1.2", () => byOpenssl("-tls1_2", "-noservername"), undefined, []],
    ["openssl in small records", () => byOpenssl("-max_send_frag", "512", "-servername", "x.y"), "x.y", []],
  ])("%s, whole and cut at every byte", { tags: ["needs/openssl"] }, checkHello)

  async function checkHello(...[name, hello, serverName, alpn]: Hello): Promise<void> {
    const offersTls13 = !name.includes("TLS 1.2")
    const bytes = await hello()
    expect(parseClientHello(bytes)).toEqual({ kind: "hello", serverName, alpn, offersTls13 })
    for (let end = 0; end < bytes.length; end++) {
      const cut = parseClientHello(bytes.subarray(0, end))
      expect(cut.kind).toBe("more")
      // The count never exceeds what the client sends, or the connection would wait forever.
      if (cut.kind === "more") {
        expect(cut.bytes).toBeGreaterThan(end)
        expect(cut.bytes).toBeLessThanOrEqual(bytes.length)
      }
    }
    const [record, message] = [bytes.subarray(0, 3), bytes.subarray(5)]
    for (const size of [1, 3, 4, 100]) {
      expect(parseClientHello(inRecords(record, message, size))).toEqual({
        kind: "hello",
        serverName,
        alpn,
        offersTls13,
      })
    }
  }
})

function inRecords(header: Buffer, message: Buffer, size: number): Buffer {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(header, Buffer.from([part.length >> 8, part.length & 0xff]), part)
  }
  return Buffer.concat(records)
}

describe("does not read as a hello", () => {
  test.each<[string, Buffer, string]>([
    ["an alert", Buffer.from([21, 3, 1, 0, 2, 1, 0]), "not-a-hello"],
    ["SSL 2", Buffer.from([0x80, 0x2e, 1, 3, 1]), "not-a-hello"],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0]), "not-a-hello"],
    ["a record beyond the limit", Buffer.from([22, 3, 1, 0x40, 1]), "not-a-hello"],
    ["another handshake message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), "not-a-hello"],
    ["a hello that claims 16 MiB", Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff]), "too-long"],
    ["a hello with nothing in it", Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0]), "not-a-hello"],
  ])("%s", (_, bytes, kind) => {
    expect(parseClientHello(bytes).kind).toBe(kind)
  })
})

it("never throws, never waits forever, and stays within its bound", async () => {
  const good = await byNode({ servername: "a.b", ALPNProtocols: ["merlon"] })
  const mutated = fc.tuple(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length)).map(([at, value, end]) => {
    const copy = Buffer.from(good)
    copy[at] = value
    return copy.subarray(0, end)
  })
  const random = fc.uint8Array({ maxLength: 600 }).map(bytes => Buffer.from(bytes))
  const framed = random.map(bytes => Buffer.concat([Buffer.from([22, 3, 1, 0, 80, 1, 0]), bytes]))
  fc.assert(
    fc.property(fc.oneof(mutated, random, framed), bytes => {
      const result = parseClientHello(bytes)
      if (result.kind === "more") {
        expect(result.bytes).toBeGreaterThan(bytes.length)
        expect(result.bytes).toBeLessThanOrEqual(MAX_CLIENT_HELLO + 5)
      }
    }),
    { numRuns: 5_000 * inject("effort") },
  )
})
