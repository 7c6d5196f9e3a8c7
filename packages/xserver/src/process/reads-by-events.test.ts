// SPDX-License-Identifier: Apache-2.0
// On a Node version that hides a socket's `onread`, xserver logs that once, and still serves.

import { once } from "node:events"
import { createServer } from "node:http"
import { connect } from "node:http2"
import { type AddressInfo, Socket } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import { pino } from "pino"
import { afterEach, expect, it, vi } from "vitest"
import { DEFAULT_LIMITS } from "../limits.js"
import type { ConfigurationSource } from "./source.js"

const SAID = "this Node.js version has no shared read buffer; reading by events, which is slower"
const BODY = "x".repeat(300_000)
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  vi.restoreAllMocks()
  vi.resetModules()
})

function hideOnread(): void {
  const own = Object.getOwnPropertySymbols
  vi.spyOn(Object, "getOwnPropertySymbols").mockImplementation(value => (value instanceof Socket ? [] : own(value)))
}

/** Loads the modules again, so that they examine the modified Node. */
async function start() {
  const [{ Xserver }, { LocalDataPath }, wire] = await Promise.all([
    import("./xserver.js"),
    import("./local-data-path.js"),
    import("@merlon/wire"),
  ])
  const application = createServer((request, reply) => void request.pipe(reply)).listen(0, "127.0.0.1")
  await once(application, "listening")
  const upstream = { host: "127.0.0.1", port: (application.address() as AddressInfo).port } // it listens on TCP
  const source: ConfigurationSource = {
    start: sink =>
      sink.enforce({
        revision: 1,
        mesh: meshConfig(),
        workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default", labels: {} },
        ports: [
          {
            port: 8080,
            listen: { host: "127.0.0.1", port: 0 },
            upstream,
            protocol: "http",
            upstreamProtocol: "http/1.1",
            serviceNames: [],
          },
        ],
        policies: [],
        keySets: {},
        tls: undefined,
        revocations: { identities: [], serials: [] },
        probes: {},
      }),
    reload: () => undefined,
    unknownKeys: () => undefined,
    applicationReady: () => undefined,
    observe: () => undefined,
    close: () => undefined,
  }
  const lines: string[] = []
  const readIntoShared = vi.spyOn(wire, "readIntoShared")
  const path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" })
  const xserver = new Xserver({
    source,
    admin: { host: "127.0.0.1", port: 0 },
    health: { host: "127.0.0.1", port: 0 },
    logger: pino({ base: null }, { write: line => lines.push(String(JSON.parse(line).msg)) }),
    makeDataPath: () => path,
  })
  cleanups.push(() => application.close())
  cleanups.push(() => xserver.stop())
  await xserver.start()
  return { lines, readIntoShared, origin: `http://127.0.0.1:${path.addresses()[0]?.port}` }
}

async function overHttp1(origin: string): Promise<string> {
  const answer = await fetch(origin, { method: "POST", body: BODY, headers: { connection: "close" } })
  return answer.text()
}

async function overHttp2(origin: string): Promise<string> {
  const session = connect(origin)
  const stream = session.request({ ":method": "POST" })
  stream.end(BODY)
  let answer = ""
  for await (const chunk of stream) answer += String(chunk)
  session.destroy()
  return answer
}

it.each([
  ["logs nothing and shares its buffer if Node offers it", () => undefined, true],
  ["logs at start that it reads by events, and serves both versions", hideOnread, false],
])("%s", async (_, prepare, shared) => {
  vi.resetModules()
  prepare()
  const { lines, origin, readIntoShared } = await start()
  expect(lines.filter(line => line === SAID)).toHaveLength(shared ? 0 : 1)
  expect(await overHttp1(origin)).toBe(BODY)
  expect(await overHttp2(origin)).toBe(BODY)
  expect(readIntoShared.mock.results.map(({ value }) => value)).toEqual([shared, shared])
})
