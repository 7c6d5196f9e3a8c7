// SPDX-License-Identifier: Apache-2.0
// Third-party clients through the proxy: h2load, nghttp, grpcurl (which is grpc-go) and Envoy. Each is skipped if its
// program is missing.

import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Server, ServerCredentials } from "@grpc/grpc-js"
import { connectTcp, Http2Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { eventually } from "@merlon/wire/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Rig, startRig } from "../accept/testing/rig.js"
import { forwardTo } from "../http/exchange.js"
import { serveHttp2 } from "./serve.js"
import { type AppListener, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"

const PATIENCE_MS = 60_000
/** Named as in `.ci/run`. */
const ENVOY = process.env.ENVOY ?? "envoy"
interface Ended {
  readonly code: number
  readonly output: string
}

function run(program: string, args: readonly string[], input = ""): Promise<Ended> {
  return new Promise(resolve => {
    const child = execFile(program, args, { maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({
        code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
        output: stdout + stderr,
      }),
    )
    child.stdin?.end(input)
  })
}

const app: AppListener = (request, response) => {
  const parts: Buffer[] = []
  request.on("data", part => parts.push(part)).on("end", () => response.end(Buffer.concat(parts)))
}

describe.each<Speaks>(["http/1.1", "h2c"])("with an application that speaks %s,", speaks => {
  let rig: Http2Rig
  beforeAll(async () => {
    rig = await startHttp2Rig(speaks, app)
  })
  afterAll(() => rig.stop())

  it("h2load has two thousand requests answered, a thousand at once (needs h2load)", {
    tags: ["needs/nghttp2"],
    timeout: PATIENCE_MS,
  }, async () => {
    const url = `http://127.0.0.1:${rig.rig.port}/`
    const { output } = await run("h2load", ["-n", "2000", "-c", "10", "-m", "100", url])
    expect(output).toContain("2000 succeeded, 0 failed, 0 errored")
  })

  it("nghttp sends a body with trailers and padding and gets it back (needs nghttp)", {
    tags: ["needs/nghttp2"],
    timeout: PATIENCE_MS,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "merlon-nghttp-"))
    const file = join(folder, "body")
    writeFileSync(file, "x".repeat(300_000))
    const args = ["--data", file, "--trailer", "x-trailer: end", "--padding=100", "--stat"]
    const { code, output } = await run("nghttp", [...args, `http://127.0.0.1:${rig.rig.port}/`])
    rmSync(folder, { recursive: true })
    expect(code).toBe(0)
    expect(output).toContain("x".repeat(300_000))
  })

  it("Envoy calls over HTTP/2 (needs `ENVOY`)", { tags: ["needs/envoy"], timeout: PATIENCE_MS }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "merlon-envoy-"))
    const file = join(folder, "envoy.json")
    // A Unix socket, because another process may take a port first.
    const socketPath = join(folder, "socket")
    writeFileSync(file, JSON.stringify(envoyTo(rig.rig.port, socketPath)))
    const envoy = spawn(ENVOY, ["-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "error"], {
      stdio: ["ignore", "ignore", "inherit"],
    })
    try {
      const isReady = (): Promise<boolean> => {
        expect(envoy.exitCode).toBeNull()
        return accepts(socketPath)
      }
      await eventually(isReady, { what: "Envoy accepts connections" })
      const statuses = await Promise.all(Array.from({ length: 50 }, () => statusOf(socketPath)))
      expect(new Set(statuses)).toEqual(new Set([200]))
    } finally {
      envoy.kill("SIGKILL")
      await once(envoy, "close")
      rmSync(folder, { recursive: true })
    }
  })
})

function envoyTo(upstream: number, socketPath: string): unknown {
  const type = "type.googleapis.com/envoy.extensions"
  const route = { match: { prefix: "/" }, route: { cluster: "gate" } }
  const manager = {
    "@type": `${type}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "out",
    route_config: { virtual_hosts: [{ name: "gate", domains: ["*"], routes: [route] }] },
    http_filters: [{ name: "router", typed_config: { "@type": `${type}.filters.http.router.v3.Router` } }],
  }
  const cluster = {
    name: "gate",
    type: "STATIC",
    load_assignment: {
      cluster_name: "gate",
      endpoints: [
        {
          lb_endpoints: [{ endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: upstream } } } }],
        },
      ],
    },
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": `${type}.upstreams.http.v3.HttpProtocolOptions`,
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
  }
  const filters = [{ name: "http", typed_config: manager }]
  const listener = { name: "out", address: { pipe: { path: socketPath } }, filter_chains: [{ filters }] }
  return { static_resources: { listeners: [listener], clusters: [cluster] } }
}

function accepts(socketPath: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(socketPath, () => resolve(true))
    socket.on("error", () => resolve(false)).on("connect", () => socket.destroy())
  })
}

function statusOf(socketPath: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ socketPath, agent: false }, answer => {
      answer.resume().on("end", () => resolve(answer.statusCode))
    }).on("error", reject)
  })
}

const PROTO = `syntax = "proto3";
package test;
message Text { string text = 1; }
service Echo {
  rpc Say(Text) returns (Text);
  rpc Collect(stream Text) returns (Text);
  rpc Repeat(Text) returns (stream Text);
  rpc Chat(stream Text) returns (stream Text);
  rpc Never(Text) returns (Text);
}`

describe("grpcurl (needs grpcurl)", { tags: ["needs/grpcurl"] }, () => {
  let rig: Rig
  let server: Server
  let folder: string
  let cancelled: Promise<void>
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "merlon-grpcurl-"))
    writeFileSync(join(folder, "echo.proto"), PROTO)
    let cancel = (): void => undefined
    cancelled = new Promise(resolve => {
      cancel = resolve
    })
    server = echoServer(() => cancel())
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
    rig = await startRig({
      handlers: ({ parts }) => {
        const deadlines = new Deadlines(parts.limits)
        const { limits, meters: observer } = parts
        const connect: Connect = how => connectTcp({ host: "127.0.0.1", port }, limits.connectTimeoutMs, how)
        const upstream = new Http2Pool({ connect, limits, deadlines, observer })
        return {
          http2: serveHttp2(
            { ...parts, deadlines },
            forwardTo(() => upstream),
          ),
        }
      },
    })
  })
  afterAll(async () => {
    server.forceShutdown()
    await rig.stop()
    rmSync(folder, { recursive: true })
  })

  const call = (method: string, texts: readonly string[], ...options: readonly string[]): Promise<Ended> => {
    const input = texts.map(text => JSON.stringify({ text })).join("\n")
    const proto = ["-plaintext", "-import-path", folder, "-proto", "echo.proto"]
    return run("grpcurl", [...proto, ...options, "-d", "@", `127.0.0.1:${rig.port}`, `test.Echo/${method}`], input)
  }
  const resultOf = ({ output }: Ended): readonly string[] =>
    [...output.matchAll(/"text": "(\w+)"/g)].map(([, text = ""]) => text)

  it.each([
    ["a unary call", "Say", ["one"], ["one"]],
    ["a client stream", "Collect", ["one", "two", "three"], ["three"]],
    ["a server stream", "Repeat", ["one"], ["one", "one", "one"]],
    ["a bidirectional stream", "Chat", ["one", "two", "three"], ["one", "two", "three"]],
  ])(
    "makes %s",
    async (_, method, texts, expected) => {
      const ended = await call(method, texts)
      expect(resultOf(ended), ended.output).toEqual(expected)
      expect(ended.code).toBe(0)
    },
    PATIENCE_MS,
  )

  it(
    "ends a call by its deadline, at the application too",
    async () => {
      let received = false
      void cancelled.then(() => {
        received = true
      })
      // On a busy machine a deadline may expire before its call has arrived.
      for (let seconds = 1; !received; seconds *= 2) {
        const { output } = await call("Never", ["one"], "-max-time", String(seconds))
        expect(output).toMatch(/DeadlineExceeded|deadline exceeded/)
      }
    },
    PATIENCE_MS,
  )
})

/** Treats messages as bytes and echoes them. */
function echoServer(onCancelled: () => void): Server {
  const same = (bytes: Buffer): Buffer => bytes
  const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
    path: `/test.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  })
  type Reply = (error: null, value: Buffer) => void
  const server = new Server()
  server.addService(
    {
      say: method("Say", false, false),
      collect: method("Collect", true, false),
      repeat: method("Repeat", false, true),
      chat: method("Chat", true, true),
      never: method("Never", false, false),
    },
    {
      say: (asked: { request: Buffer }, reply: Reply) => reply(null, asked.request),
      collect: (asked: NodeJS.ReadableStream, reply: Reply) => {
        let last = Buffer.alloc(0)
        asked.on("data", part => {
          last = part
        })
        asked.on("end", () => reply(null, last))
      },
      repeat: (asked: NodeJS.WritableStream & { request: Buffer }) => {
        for (let n = 0; n < 3; n++) asked.write(asked.request)
        asked.end()
      },
      chat: (asked: NodeJS.ReadWriteStream) => {
        asked.on("data", part => asked.write(part))
        asked.on("end", () => asked.end())
      },
      never: (asked: { on(event: "cancelled", listener: () => void): void }) => asked.on("cancelled", onCancelled),
    },
  )
  return server
}
