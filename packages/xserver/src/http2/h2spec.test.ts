// SPDX-License-Identifier: Apache-2.0
// h2spec (github.com/summerwind/h2spec) against the proxy, strict mode included, in cleartext and under TLS. Skipped if
// the program is missing.

import { execFile } from "node:child_process"
import { connect, createServer } from "node:tls"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Authority } from "../accept/testing/certificates.js"
import { listening } from "../accept/testing/rig.js"
import { type AppListener, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"

const authority = new Authority()
const app: AppListener = (request, response) => {
  request.resume().on("end", () => response.end("h2spec"))
}

interface Outcome {
  readonly summary: string
  readonly failures: string
}

function h2spec(args: readonly string[]): Promise<Outcome> {
  return new Promise(resolve => {
    execFile(
      "h2spec",
      ["-h", "127.0.0.1", "--strict", "-o", "5", ...args],
      { maxBuffer: 16 * 1024 * 1024 },
      (_, stdout) => {
        const at = stdout.indexOf("Failures:")
        const summary = /\d+ tests, .*failed/.exec(stdout)?.[0] ?? stdout
        resolve({ summary, failures: at < 0 ? "" : stdout.slice(at) })
      },
    )
  })
}

describe.each<Speaks>(["http/1.1", "h2c"])(
  "with an application that speaks %s (needs h2spec)",
  { tags: ["needs/h2spec"] },
  speaks => {
    let rig: Http2Rig
    beforeAll(async () => {
      rig = await startHttp2Rig(speaks, app, { authority })
    })
    afterAll(() => rig.stop())

    it("passes in cleartext except for what is read as HTTP/1.1, strict mode included", async () => {
      expectAllPassed(await h2spec(["-p", String(rig.rig.port)]), ANSWERED_AS_HTTP1)
    }, 600_000)

    it("passes completely under mutual TLS, strict mode included", async () => {
      const relay = await startRelay(rig.rig.port)
      expectAllPassed(await h2spec(["-p", String(relay.port), "-t", "-k"]))
      relay.close()
    }, 600_000)
  },
)

/** h2spec cannot present a certificate: this relay speaks TLS with it and mutual TLS with the proxy. */
async function startRelay(port: number): Promise<{ readonly port: number; close(): void }> {
  const { certificate: cert, privateKey: key } = authority.issue()
  const identity = { cert, key, ALPNProtocols: ["h2"] }
  const server = createServer(identity, client => {
    const gate = connect({ ...identity, port, host: "127.0.0.1", ca: authority.certificate, checkServerIdentity })
    for (const [from, to] of [
      [client, gate],
      [gate, client],
    ] as const) {
      from.on("error", () => undefined)
      from.once("close", () => to.destroy())
      from.pipe(to)
    }
  })
  return { port: await listening(server), close: () => server.close() }
}

const checkServerIdentity = (): undefined => undefined

/**
 * In cleartext a port accepts both versions, so anything but the preface is read as HTTP/1.1: the proxy answers 400 in
 * that version and closes the connection. h2spec expects the connection to close without a response (RFC 9113 section
 * 3.4 leaves that open).
 */
const ANSWERED_AS_HTTP1 = ["Sends invalid connection preface"]

function expectAllPassed({ summary, failures }: Outcome, exceptions: readonly string[] = []): void {
  const failed = [...failures.matchAll(/× \d+: (.*)/g)].map(([, name]) => name)
  expect(failed, failures).toEqual(exceptions)
  const [, tests, passed] = /^(\d+) tests, (\d+) passed, 0 skipped, \d+ failed$/.exec(summary) ?? []
  expect(Number(tests), summary).toBe(Number(passed) + exceptions.length)
  expect(Number(tests), summary).toBeGreaterThan(140)
}
