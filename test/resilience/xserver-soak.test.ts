// SPDX-License-Identifier: Apache-2.0
// Traffic of every kind for a while (seconds, and minutes in `npm run test:long`), with changes of policies and
// certificates: no request fails unexpectedly, and the process ends with about the memory that it had after warming up.

import { readFileSync } from "node:fs"
import http from "node:http"
import https from "node:https"
import { connect } from "node:net"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { Authority, GOOD_ID } from "../../packages/xserver/src/accept/testing/certificates.js"
import { type Application, startApplication } from "../e2e/support/application.js"
import { document, XserverProcess } from "../e2e/support/xserver.js"

const SECONDS = 6 * inject("effort")
/** After this, nothing is allocated for the first time any more. */
const WARM_SECONDS = 4
/** Minimums, because a busy machine does less in these seconds. */
const LEAST_CALLS = 200
const LEAST_CHANGES = 3
const MiB = 1024 * 1024
const authority = new Authority()
const client = authority.issue({ uris: [GOOD_ID] })
let application: Application
let xserver: XserverProcess

const policies = (n: number): readonly object[] => [
  document("AuthorizationPolicy", "open", {
    action: "DENY",
    rules: [{ to: [{ operation: { paths: [`/denied/${n}`, "/denied*"] } }] }],
  }),
]

beforeAll(async () => {
  application = await startApplication()
  const settings = { upstream: application.port, tls: authority.material(), policies: policies(0) }
  xserver = await XserverProcess.start({ ...settings, args: ["--access-log", "off"] })
})
afterAll(async () => {
  await xserver.remove()
  await application.close()
})

const resident = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${xserver.pid}/status`, "utf8"))?.[1]) * 1024

const plainAgent = new http.Agent({ keepAlive: true, maxSockets: 4 })
const mtls = {
  cert: client.certificate,
  key: client.privateKey,
  ca: authority.certificate,
  checkServerIdentity: () => undefined,
}
const mtlsAgent = new https.Agent({ keepAlive: true, maxSockets: 4, ...mtls })

function ask(secure: boolean, path: string, fresh = false): Promise<number> {
  const options = { host: "127.0.0.1", port: xserver.port, path }
  return new Promise(resolve => {
    const done = (response: http.IncomingMessage): void => {
      response.resume()
      response.on("end", () => resolve(response.statusCode ?? 0))
      response.on("error", () => resolve(0))
    }
    const request = secure
      ? https.request({ ...options, ...(fresh ? { agent: false, ...mtls } : { agent: mtlsAgent }) }, done)
      : http.request({ ...options, agent: fresh ? false : plainAgent }, done)
    request.on("error", () => resolve(0))
    request.end()
  })
}

/** Disconnects in the middle of a response. */
function abandon(): Promise<number> {
  return new Promise(resolve => {
    const socket = connect({ host: "127.0.0.1", port: xserver.port }, () => {
      socket.write("GET /bytes/500000 HTTP/1.1\r\nHost: a\r\n\r\n")
    })
    socket.once("data", () => socket.destroy())
    socket.on("error", () => undefined)
    socket.on("close", () => resolve(200))
  })
}

const TRAFFIC: readonly (readonly [expected: number, ask: () => Promise<number>])[] = [
  [200, () => ask(false, "/get")],
  [200, () => ask(true, "/get")],
  [403, () => ask(false, "/denied/x")],
  [200, () => ask(false, "/bytes/100000", true)],
  [200, () => ask(true, "/get", true)],
  [200, abandon],
]

/** Runs for this many seconds, and on until `isEnough`. Returns unexpected results. */
async function traffic(seconds: number, isEnough = (): boolean => true): Promise<readonly string[]> {
  const unexpected: string[] = []
  let calls = 0
  const end = Date.now() + seconds * 1_000
  const callers = TRAFFIC.map(async ([expected, call], kind) => {
    while (Date.now() < end || calls < LEAST_CALLS || !isEnough()) {
      const status = await call()
      calls++
      if (status !== expected) unexpected.push(`traffic ${kind}: ${status} instead of ${expected}`)
    }
  })
  await Promise.all(callers)
  return unexpected
}

it(
  "ends with the memory it began with, and nothing failed",
  async () => {
    await traffic(WARM_SECONDS)
    const warm = resident()
    let change = 0
    const changing = setInterval(
      () => xserver.configure({ policies: policies(++change), tls: authority.material() }),
      1_200,
    )
    const unexpected = await traffic(SECONDS, () => change >= LEAST_CHANGES)
    clearInterval(changing)
    expect(unexpected.slice(0, 5)).toEqual([])
    for (const agent of [plainAgent, mtlsAgent]) agent.destroy()
    await eventually(async () => /xserver_connections\{port="8080"\} 0/.test(await xserver.metrics()), {
      what: "no connection is open",
    })
    expect(resident() - warm).toBeLessThan(80 * MiB)
  },
  (SECONDS + 300) * 1_000,
)
