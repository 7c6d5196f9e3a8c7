// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { createServer as createHttp } from "node:http"
import { createServer as createHttp2 } from "node:http2"
import { createServer as createHttps } from "node:https"
import type { AddressInfo, Server as NetServer } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import type { Probe } from "../config/probe.js"
import { probeApplication } from "./probe-application.js"

const open: { close(): unknown }[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

async function portOf(server: NetServer): Promise<number> {
  open.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return (server.address() as AddressInfo).port // a TCP server has an AddressInfo
}

const ask = (kind: Probe["kind"], port: number, path = "/"): Promise<number> =>
  probeApplication({ kind, port, path, headers: {}, timeoutMs: 60_000 })

describe("a probe in place of the kubelet", () => {
  it.each([200, 301, 404, 503])("passes on the status %i", async status => {
    const port = await portOf(createHttp((_, reply) => reply.writeHead(status).end("text")))
    expect(await ask("http", port)).toBe(status)
  })

  it("asks over TLS without verifying the certificate", { tags: ["needs/openssl"] }, async () => {
    const pem = execFileSync("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-"],
      ...["-days", "1", "-subj", "/CN=anybody"],
    ])
    const port = await portOf(createHttps({ key: pem, cert: pem }, (_, reply) => reply.writeHead(204).end()))
    expect(await ask("https", port)).toBe(204)
    expect(await ask("http", port)).not.toBe(204)
  })

  it.each([
    ["serves", 1, 200],
    ["does not serve", 2, 503],
  ])("asks a gRPC application that %s", async (_, status, expected) => {
    const asked: Buffer[] = []
    const server = createHttp2()
    server.on("stream", (stream, headers) => {
      stream.on("data", (part: Buffer) => asked.push(part))
      stream.on("end", () => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
        expect(headers[":path"]).toBe("/grpc.health.v1.Health/Check")
        stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, status]))
      })
    })
    const port = await portOf(server)
    expect(await ask("grpc", port, "shop.Cart")).toBe(expected)
    expect(Buffer.concat(asked).subarray(7).toString()).toBe("shop.Cart")
  })

  it("reports a gRPC server without that service as down", async () => {
    const server = createHttp2()
    server.on("stream", stream => stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true }))
    expect(await ask("grpc", await portOf(server), "")).toBe(503)
  })

  it("reports a missing application as down", async () => {
    const server = createHttp()
    const port = await portOf(server)
    server.close()
    await once(server, "close")
    for (const kind of ["http", "https", "tcp", "grpc"] as const) expect(await ask(kind, port)).toBe(503)
  })
})
