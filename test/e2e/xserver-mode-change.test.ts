// SPDX-License-Identifier: Apache-2.0
// The mode changes from PERMISSIVE to STRICT while callers of both kinds continue to call: no mTLS request fails, and
// once the change is acknowledged no plaintext request succeeds. Then it changes back.

import http from "node:http"
import https from "node:https"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { Authority, GOOD_ID } from "../../packages/xserver/src/accept/testing/certificates.js"
import { type Application, startApplication } from "./support/application.js"
import { mode, XserverProcess } from "./support/xserver.js"

interface Call {
  readonly started: number
  readonly status: number
}

let application: Application
let xserver: XserverProcess
const authority = new Authority()
const client = authority.issue({ uris: [GOOD_ID] })

beforeAll(async () => {
  application = await startApplication()
  xserver = await XserverProcess.start({
    upstream: application.port,
    policies: [mode("PERMISSIVE")],
    tls: authority.material(),
  })
})
afterAll(async () => {
  await xserver.remove()
  await application.close()
})

const plainAgent = new http.Agent({ keepAlive: true, maxSockets: 8 })
const mtlsAgent = new https.Agent({
  keepAlive: true,
  maxSockets: 8,
  cert: client.certificate,
  key: client.privateKey,
  ca: authority.certificate,
  // The server certificate contains its SPIFFE id, not the address that we dial.
  checkServerIdentity: () => undefined,
})

function call(secure: boolean): Promise<Call> {
  const started = performance.now()
  const options = { host: "127.0.0.1", port: xserver.port, path: "/get" }
  return new Promise(resolve => {
    const done = (status: number): void => resolve({ started, status })
    const onResponse = (response: http.IncomingMessage): void => {
      response.resume()
      response.on("end", () => done(response.statusCode ?? 0))
      response.on("error", () => done(0))
    }
    const request = secure
      ? https.request({ ...options, agent: mtlsAgent }, onResponse)
      : http.request({ ...options, agent: plainAgent }, onResponse)
    request.on("error", () => done(0))
    request.end()
  })
}

interface Calling {
  /** The calls that have ended so far, in the order in which they ended. */
  readonly calls: readonly Call[]
  /** Resolves when this many further calls have ended. */
  more(count: number): Promise<void>
  stop(): Promise<void>
}

function keepCalling(secure: boolean): Calling {
  const calls: Call[] = []
  let running = true
  const callers = Array.from({ length: 8 }, async () => {
    while (running) calls.push(await call(secure))
  })
  return {
    calls,
    async more(count) {
      const wanted = calls.length + count
      await vi.waitFor(() => expect(calls.length).toBeGreaterThanOrEqual(wanted), 90_000)
    },
    async stop() {
      running = false
      await Promise.all(callers)
    },
  }
}

it("holds for every request under load, in both directions", async () => {
  const plain = keepCalling(false)
  const secure = keepCalling(true)
  const more = (): Promise<unknown> => Promise.all([plain.more(100), secure.more(100)])
  await more()
  const before = plain.calls.length
  xserver.configure({ policies: [mode("STRICT")] })
  await xserver.enforced()
  const strictFrom = performance.now()
  await more()
  // Requests that are in flight now may arrive when plaintext is accepted again.
  const untilOpen = plain.calls.length
  xserver.configure({ policies: [mode("PERMISSIVE")] })
  await xserver.enforced()
  const openFrom = performance.now()
  await more()
  await Promise.all([plain.stop(), secure.stop()])
  const plainCalls = plain.calls

  expect(secure.calls.filter(({ status }) => status !== 200)).toEqual([])
  const during = plainCalls.slice(0, untilOpen).filter(({ started }) => started > strictFrom)
  expect(during.length).toBeGreaterThan(50)
  expect(during.filter(({ status }) => status !== 0)).toEqual([])
  expect(plainCalls.some(({ started, status }) => started > openFrom && status === 200)).toBe(true)
  expect(plainCalls.slice(0, before).every(({ status }) => status === 200)).toBe(true)
})

it("a revoked certificate loses its open connections and cannot open new ones", async () => {
  expect((await call(true)).status).toBe(200)
  xserver.configure({ more: { revocations: { identities: [GOOD_ID] } } })
  await xserver.enforced()
  const statuses: number[] = []
  // The first request may only find that its connection has ended; a new connection is rejected because of its
  // certificate.
  const tried = async (): Promise<string> => {
    statuses.push((await call(true)).status)
    return xserver.metrics()
  }
  await expect.poll(tried).toContain('tls_failures_total{reason="revoked"}')
  expect(new Set(statuses)).toEqual(new Set([0]))
})
