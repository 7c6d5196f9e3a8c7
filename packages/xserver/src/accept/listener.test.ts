// SPDX-License-Identifier: Apache-2.0

import { spawn } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, connect as connectTls } from "node:tls"
import { describe, expect, it, test } from "vitest"
import type { Accepted } from "./accepted.js"
import { Authority, GOOD_ID, type Issued, OWN_ID } from "./testing/certificates.js"
import { closed, firstLine, listenerBench, naming } from "./testing/listener-bench.js"
import { listening, type Rig, SERVICE_NAME } from "./testing/rig.js"

const authority = new Authority()
const { cleanups, echoPort, plain, rigWith, secure } = listenerBench(authority)

/** Bytes of a ClientHello as latin1 text. */
async function clientHello(): Promise<string> {
  const server = createServer()
  const client = connectTls({ host: "127.0.0.1", port: await listening(server) }).on("error", () => undefined)
  const [socket]: Socket[] = await once(server, "connection")
  const [bytes]: Buffer[] = await once(socket ?? server, "data")
  client.destroy()
  server.close()
  return bytes?.toString("latin1") ?? ""
}

describe("a terminated connection is handed over by", () => {
  test.each<[string, "http" | "tcp" | "auto", ConnectionOptions, string, string]>([
    ["ALPN h2", "http", { ALPNProtocols: ["h2", "http/1.1"] }, "", "http2"],
    ["ALPN http/1.1", "http", { ALPNProtocols: ["http/1.1"] }, "", "http1"],
    ["the mesh's ALPN for HTTP/2", "http", { ALPNProtocols: ["merlon-h2"] }, "", "http2"],
    ["the mesh's ALPN for HTTP/1.1", "http", { ALPNProtocols: ["merlon-http/1.1"] }, "", "http1"],
    ["its bytes, without ALPN", "http", {}, "GET / HTTP/1.1\r\n", "http1"],
    ["its bytes, with an unknown ALPN", "http", { ALPNProtocols: ["x"] }, "GET / HTTP/1.1\r\n", "http1"],
    ["the preface", "http", { ALPNProtocols: ["merlon"] }, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
    ["TLS 1.2", "http", { ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" }, "", "http2"],
    ["the declared protocol, before any byte", "tcp", { ALPNProtocols: ["merlon", "h2"] }, "", "tcp"],
    ["the name of a Service", "tcp", { servername: SERVICE_NAME.toUpperCase(), ALPNProtocols: ["pg"] }, "", "tcp"],
    ["its bytes, HTTP", "auto", { ALPNProtocols: ["merlon"] }, "GET / HTTP/1.1\r\n", "http1"],
    ["its bytes, others", "auto", { ALPNProtocols: ["merlon"] }, "\x00\x01", "tcp"],
    ["the mesh's ALPN, undeclared", "auto", { ALPNProtocols: ["merlon-h2"] }, "", "http2"],
  ])("%s", async (_, protocol, options, bytes, expected) => {
    const rig = await rigWith({ ...naming(), port: { protocol } })
    const socket = secure(rig, options)
    if (bytes !== "") socket.write(bytes)
    const sni = typeof options.servername === "string" ? options.servername : "-"
    expect(await firstLine(socket)).toBe(`${expected} ${GOOD_ID} ${sni} ${bytes}`.trim())
    const offered = options.ALPNProtocols
    expect(socket.alpnProtocol).toBe(Array.isArray(offered) ? offered[0] : false)
  })
})

describe("a plaintext connection is handed over by", () => {
  test.each<[string, "http" | "auto", string, string]>([
    ["its request", "http", "GET / HTTP/1.1\r\n", "http1"],
    ["the preface", "http", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
    ["its request, undeclared", "auto", "POST / HTTP/1.1\r\n", "http1"],
    ["the preface, undeclared", "auto", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
    ["other bytes, undeclared", "auto", "\x7fELF", "tcp"],
  ])("%s, sent byte by byte", async (_, protocol, bytes, expected) => {
    const rig = await rigWith({ ...naming(), port: { protocol } })
    const socket = plain(rig).setNoDelay(true)
    const line = firstLine(socket)
    for (const byte of bytes) {
      socket.write(byte, "latin1")
      await new Promise(setImmediate)
    }
    expect(await line).toMatch(new RegExp(`^${expected} plaintext -`))
  })

  it("half a line and an end of input, on an undeclared port", async () => {
    const rig = await rigWith({ ...naming(), port: { protocol: "auto" } })
    const socket = plain(rig)
    socket.allowHalfOpen = true
    socket.end("FOO")
    expect(await firstLine(socket)).toBe("tcp plaintext - FOO")
  })
})

it("tells the handler the peer's identity and addresses", async () => {
  const seen: Accepted[] = []
  const rig = await rigWith(naming(seen))
  const peer = authority.issue({ dns: ["front.example"], commonName: "front" })
  await firstLine(secure(rig, { ALPNProtocols: ["h2"], servername: "a.example" }, peer))
  expect(seen[0]?.connection).toMatchObject({
    peer: { uri: GOOD_ID, namespace: "shop", serviceAccount: "frontend" },
    sourceIp: { text: "127.0.0.1" },
    destinationIp: { text: "127.0.0.1" },
    destinationPort: 8080,
    sni: "a.example",
  })
  expect(seen[0]?.certificate).toEqual({
    uri: GOOD_ID,
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    subject: "CN=front",
    serial: peer.serial,
    dns: ["front.example"],
    by: OWN_ID,
    issuer: expect.any(X509Certificate),
  })
})

describe("a server that speaks first is reached", () => {
  async function greeter(): Promise<number> {
    const server = createServer(socket => socket.on("error", () => undefined).write("220 ready\n"))
    const port = await listening(server)
    cleanups.push(() => server.close())
    return port
  }

  test("at once in mode DISABLE", async () => {
    const upstream = { host: "127.0.0.1", port: await greeter() }
    const rig = await rigWith({ mode: "DISABLE", port: { protocol: "tcp", upstream } })
    expect(await firstLine(plain(rig))).toBe("220 ready")
  })

  test("at once after a handshake", async () => {
    const upstream = { host: "127.0.0.1", port: await greeter() }
    const rig = await rigWith({ mode: "STRICT", port: { protocol: "tcp", upstream } })
    expect(await firstLine(secure(rig))).toBe("220 ready")
  })

  test.each(["tcp", "auto"] as const)("after the time for first bytes, %s", async protocol => {
    const upstream = { host: "127.0.0.1", port: await greeter() }
    const rig = await rigWith({ port: { protocol, upstream }, limits: { sniffTimeoutMs: 20 } })
    expect(await firstLine(plain(rig))).toBe("220 ready")
  })
})

describe("closes and counts", () => {
  test("silence on an HTTP port", async () => {
    const rig = await rigWith({ limits: { sniffTimeoutMs: 20 } })
    await closed(plain(rig))
    expect(rig.meters.limits).toEqual(["sniffTimeoutMs"])
  })

  test("silence inside a ClientHello", async () => {
    const rig = await rigWith({ limits: { sniffTimeoutMs: 20 } })
    await closed(plain(rig, "\x16\x03\x01"))
    expect(rig.meters.limits).toEqual(["sniffTimeoutMs"])
  })

  test("silence inside a handshake", async () => {
    const rig = await rigWith({ limits: { handshakeTimeoutMs: 20 } })
    await closed(plain(rig, await clientHello()))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["timeout"])
  })

  test("garbage instead of a handshake", async () => {
    const rig = await rigWith()
    await closed(plain(rig, `\x16\x03\x01${"x".repeat(300)}`))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["protocol"])
  })

  test("an old version of TLS", async () => {
    const rig = await rigWith()
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" } as const
    await closed(secure(rig, old))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["protocol"])
  })

  test("a certificate for servers only", async () => {
    const rig = await rigWith()
    await closed(secure(rig, {}, authority.issue({ usages: ["server"] })))
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["untrusted"])
  })

  test("one connection too many", async () => {
    const rig = await rigWith({ ...naming(), limits: { connections: 2, callerSharePercent: 100 } })
    await Promise.all([firstLine(plain(rig, "GET / HTTP/1.1\r\n")), firstLine(plain(rig, "GET / HTTP/1.1\r\n"))])
    await closed(plain(rig))
    await rig.meters.until(meters => meters.limits.length > 0)
    expect(rig.meters.limits).toEqual(["connections"])
    expect(rig.meters.open).toBe(2)
  })

  test("TLS without a certificate of our own", async () => {
    const rig = await rigWith()
    rig.security.swap(undefined)
    await closed(secure(rig))
    expect(rig.meters.failures).toEqual(["tls-not-accepted"])
  })
})

describe("credentials", () => {
  it("are replaced completely or not at all", async () => {
    const rig = await rigWith(naming())
    const good = authority.material()
    const bad = [
      { ...good, trustBundle: "" },
      { ...good, trustBundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" },
      { ...good, certificateChain: "" },
      { ...good, privateKey: authority.issue().privateKey },
      { ...good, privateKey: "no key" },
      authority.material({ uris: ["https://x"] }),
    ]
    for (const material of bad) expect(() => rig.security.swap(material)).toThrow(/^(the|the certificate) /)
    expect(await firstLine(secure(rig, { ALPNProtocols: ["h2"] }))).toBe(`http2 ${GOOD_ID} -`)
  })

  it("may trust several authorities while one replaces another", async () => {
    const next = new Authority("The next")
    const rig = await rigWith(naming())
    rig.security.swap({ ...authority.material(), trustBundle: authority.certificate + next.certificate })
    for (const peer of [authority.issue(), next.issue()]) {
      expect(await firstLine(secure(rig, { ALPNProtocols: ["h2"] }, peer))).toBe(`http2 ${GOOD_ID} -`)
    }
  })

  it("with a revocation end the connections of the identity, and no others", async () => {
    const upstream = { host: "127.0.0.1", port: await echoPort() }
    const rig = await rigWith({ mode: "STRICT", port: { protocol: "tcp", upstream } })
    const other = authority.issue({ uris: ["spiffe://cluster.local/ns/shop/sa/other"] })
    const [revoked, kept] = [secure(rig), secure(rig, {}, other)]
    for (const socket of [revoked, kept]) socket.write("a\n")
    expect(await Promise.all([firstLine(revoked), firstLine(kept)])).toEqual(["echo:a", "echo:a"])
    rig.security.swap(authority.material(), { identities: [GOOD_ID], serials: [] })
    await closed(revoked)
    kept.write("b\n")
    expect(await firstLine(kept)).toBe("b")
  })
})

describe("many connections that only occupy slots", () => {
  const ways = [
    ["send nothing", ""],
    ["never finish their handshake", "\x16\x03\x01"],
  ] as const

  it.each(ways)("which %s leave slots for others", async (_, text) => {
    const rig = await rigWith({ ...naming(), limits: { sniffTimeoutMs: 60_000, handshakeTimeoutMs: 60_000 } })
    const crowd = Array.from({ length: 1_000 }, () => plain(rig, text))
    await rig.meters.until(meters => meters.opened === crowd.length)
    expect(await firstLine(secure(rig, { ALPNProtocols: ["h2"] }))).toBe(`http2 ${GOOD_ID} -`)
    expect(await firstLine(plain(rig, "GET / HTTP/1.1\r\n"))).toMatch(/^http1 /)
    expect(rig.meters.open).toBe(crowd.length + 2)
  })

  it.each(ways)("which %s are closed in time", async (_, text) => {
    const rig = await rigWith({ ...naming(), limits: { sniffTimeoutMs: 20, handshakeTimeoutMs: 20 } })
    const crowd = Array.from({ length: 100 }, () => plain(rig, text))
    await rig.meters.until(meters => meters.opened === crowd.length && meters.open === 0)
  })
})

describe("a change of mode", () => {
  it("to STRICT ends open plaintext, and keeps what may still become a handshake", async () => {
    const upstream = { host: "127.0.0.1", port: await echoPort() }
    const rig = await rigWith({ port: { protocol: "auto", upstream } })
    const [tunnel, half, silent, mutual] = [
      plain(rig, "\x01a\n"),
      plain(rig, "FOO "),
      plain(rig),
      secure(rig, { ALPNProtocols: ["merlon"] }),
    ]
    mutual.write("\x01b\n")
    expect(await firstLine(tunnel)).toBe("echo:\x01a")
    expect(await firstLine(mutual)).toBe("echo:\x01b")
    await rig.meters.until(meters => meters.open === 4)
    const ended = Promise.all([closed(tunnel), closed(half)])
    rig.setMode("STRICT")
    await ended
    mutual.write("c\n")
    expect(await firstLine(mutual)).toBe("c")
    expect(silent.readyState).toBe("open")
    silent.write("GET / HTTP/1.1\r\n\r\n")
    await closed(silent)
    await rig.meters.until(meters => meters.open < 2)
    expect(rig.meters.open).toBe(1)
  })

  it("to DISABLE ends connections with an identity", async () => {
    const upstream = { host: "127.0.0.1", port: await echoPort() }
    const rig = await rigWith({ port: { protocol: "tcp", upstream } })
    const mutual = secure(rig, { ALPNProtocols: ["merlon"] })
    mutual.write("b\n")
    await firstLine(mutual)
    rig.setMode("DISABLE")
    await closed(mutual)
  })
})

describe("openssl s_client", { tags: ["needs/openssl"] }, () => {
  async function s_client(rig: Rig, args: readonly string[], peer?: Issued): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-"))
    cleanups.push(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, "ca.pem"), authority.certificate)
    if (peer !== undefined) writeFileSync(join(folder, "peer.pem"), peer.certificate + peer.privateKey)
    const own = peer === undefined ? [] : ["-cert", join(folder, "peer.pem")]
    const verify = ["-CAfile", join(folder, "ca.pem"), "-verify_return_error", "-ign_eof"]
    const child = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${rig.port}`, ...verify, ...own, ...args])
    let text = ""
    child.stdout.on("data", chunk => {
      text += chunk
      if (text.includes("http1 ")) child.kill()
    })
    child.stdin.on("error", () => undefined)
    child.stdin.write("GET / HTTP/1.1\r\n\r\n")
    await once(child, "close")
    return text
  }

  test.each([["-tls1_2"], ["-tls1_3"]])("connects with its certificate, %s", async version => {
    const rig = await rigWith(naming())
    expect(await s_client(rig, [version], authority.issue())).toContain(`http1 ${GOOD_ID}`)
  })

  it("is rejected without a certificate", async () => {
    const rig = await rigWith(naming())
    expect(await s_client(rig, [])).not.toContain("http1")
    await rig.meters.until(meters => meters.failures.length > 0)
    expect(rig.meters.failures).toEqual(["no-certificate"])
  })
})

test.each([
  ["STRICT", "plaintext", (rig: Rig) => plain(rig, "GET / HTTP/1.1\r\n\r\n")],
  ["DISABLE", "TLS", (rig: Rig) => secure(rig)],
] as const)("a %s port logs the %s that it rejected", async (mode, _, call) => {
  const rig = await rigWith({ mode, ...naming(), port: { protocol: "http" } })
  call(rig)
  await rig.meters.until(({ rejected }) => rejected.length > 0)
  expect(rig.meters.rejected).toMatchObject([
    { status: 0, source: "127.0.0.1", judgement: { verdict: "deny", stage: "transport", mode } },
  ])
  // The connection never carried a request.
  expect(rig.meters.records).toEqual([])
})
