// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { request, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { healthServer } from "./health-server.js"
import type { ProxyReport } from "./proxy-report.js"

let missing: string[] = []
let scrapes = 0
let finishScrape: (() => void) | undefined
let metrics: () => Promise<{ type: string; text: string }>
const reports = ["foo/a", "foo/b", "foo/c"].map(key => ({ key }) as ProxyReport) // only the keys matter here
let server: Server

beforeEach(async () => {
  missing = []
  scrapes = 0
  metrics = async () => ({ type: "text/plain", text: "a 1\n" })
  server = healthServer({
    missing: () => missing,
    metrics: () => {
      scrapes++
      return metrics()
    },
    proxies: (after, limit) => reports.filter(({ key }) => key > after).slice(0, limit),
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

const port = () => (server.address() as AddressInfo).port // a TCP server's address

function ask(
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: port(), path, headers, method, agent: false }, response => {
      let body = ""
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on("error", reject)
      .end()
  })
}

it("is live as soon as it answers, and ready when nothing is missing", async () => {
  expect(await ask("/healthz")).toEqual({ status: 200, body: "ok\n" })
  missing = ["pods are not listed yet", "no authority"]
  expect(await ask("/readyz")).toEqual({
    status: 503,
    body: "not ready: pods are not listed yet\nnot ready: no authority\n",
  })
  missing = []
  expect(await ask("/readyz?verbose")).toEqual({ status: 200, body: "ok\n" })
})

it("renders metrics once for concurrent scrapes", async () => {
  metrics = () =>
    new Promise(resolve => {
      finishScrape = () => resolve({ type: "text/plain", text: "a 1\n" })
    })
  let arrived = 0
  server.on("request", () => arrived++)
  const answers = [ask("/metrics"), ask("/metrics"), ask("/metrics")]
  await expect.poll(() => arrived).toBe(3)
  finishScrape?.()
  expect((await Promise.all(answers)).map(({ body }) => body)).toEqual(["a 1\n", "a 1\n", "a 1\n"])
  expect(scrapes).toBe(1)
})

it("answers 500 if metrics fail, and renders them again", async () => {
  metrics = () => Promise.reject(new Error("broken"))
  expect((await ask("/metrics")).status).toBe(500)
  metrics = async () => ({ type: "text/plain", text: "a 1\n" })
  expect((await ask("/metrics")).status).toBe(200)
})

describe("proxies", () => {
  it("are returned in pages", async () => {
    expect(JSON.parse((await ask("/debug/proxies?limit=2")).body)).toEqual({
      proxies: [{ key: "foo/a" }, { key: "foo/b" }],
      after: "foo/b",
    })
    expect(JSON.parse((await ask("/debug/proxies?limit=2&after=foo/b")).body)).toEqual({ proxies: [{ key: "foo/c" }] })
    expect(JSON.parse((await ask("/debug/proxies?limit=-1")).body).proxies).toHaveLength(3)
  })

  test.each<Record<string, string>>([
    { host: "evil.example" },
    { origin: "http://evil.example" },
    { "sec-fetch-site": "cross-site" },
  ])("are not shown to a page in a browser: %o", async headers => {
    expect((await ask("/debug/proxies", headers)).status).toBe(403)
  })
})

test.each([
  ["POST", "/healthz", 405],
  ["GET", "/", 404],
  ["GET", "//", 404],
  ["GET", "/debug/proxies/../../etc", 404],
  ["HEAD", "/healthz", 200],
])("%s %s is answered with %i", async (method, path, status) => {
  expect((await ask(path, {}, method)).status).toBe(status)
})

it("survives bytes that are not HTTP", async () => {
  const socket = connect(port(), "127.0.0.1")
  socket.on("error", () => undefined)
  socket.resume().end("\0\0\0 nonsense\r\n\r\n")
  await once(socket, "close")
  expect((await ask("/healthz")).status).toBe(200)
})
