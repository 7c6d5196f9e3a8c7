// SPDX-License-Identifier: Apache-2.0
// The same request over HTTP/1.1 and over HTTP/2: one verdict, one status, one recorded decision, and the application
// receives the same request.

import { request as askHttp1, type IncomingMessage } from "node:http"
import fc from "fast-check"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { type AppListener, ask, type Http2Rig, startHttp2Rig } from "../http2/testing/http2-rig.js"

let rig: Http2Rig
let asked: string | undefined

const policies = [
  authorization("deny", {
    action: "DENY",
    rules: [{ to: [{ operation: { paths: ["/admin*"], methods: ["POST"] } }] }],
  }),
  authorization("allow", {
    rules: [
      { to: [{ operation: { paths: ["/open*", "/admin*"] } }] },
      { to: [{ operation: { hosts: ["a.example"] } }], when: [{ key: "request.headers[x-team]", values: ["red"] }] },
    ],
  }),
]

beforeAll(async () => {
  const app: AppListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on("data", chunk => chunks.push(chunk))
    request.on("end", () => {
      const headers = Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.has(name))
      asked = JSON.stringify([
        request.method,
        request.url,
        headers.map(pair => pair.join(": ")).sort(),
        Buffer.concat(chunks).toString(),
      ])
      response.writeHead(request.url?.includes("teapot") === true ? 418 : 200).end("body")
    })
  }
  rig = await startHttp2Rig("http/1.1", app, { policies })
})
afterAll(() => rig.stop())

/** Each version frames a body in its own way. */
const HOP_BY_HOP = new Set(["connection", "transfer-encoding", "content-length", "x-request-id"])

interface Asked {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
}

async function overHttp1({ method, path, host, headers, body }: Asked): Promise<number> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const framed = body === undefined ? [] : [["transfer-encoding", "chunked"] as const]
    const lines = [["host", host] as const, ...headers, ...framed].flat()
    const outgoing = askHttp1(
      { host: "127.0.0.1", port: rig.rig.port, method, path, headers: lines, agent: false },
      resolve,
    )
    outgoing.on("error", reject).end(body)
  })
  for await (const _ of response) {
    // Discards the body.
  }
  return response.statusCode ?? 0
}

async function overHttp2({ method, path, host, headers, body }: Asked): Promise<number> {
  const session = rig.connect()
  const fields: Record<string, string[]> = {}
  for (const [name, value] of headers) fields[name] = [...(fields[name] ?? []), value]
  const { status } = await ask(session, { ":method": method, ":path": path, ":authority": host, ...fields }, body)
  session.destroy()
  return status
}

async function outcome(send: (request: Asked) => Promise<number>, request: Asked) {
  const { records } = rig.rig.meters
  const before = records.length
  asked = undefined
  const status = await send(request)
  await rig.rig.meters.until(meters => meters.records.length > before)
  const { judgement, decisionId, method, host, path, upstreamFailure } = records[before] ?? {}
  const { verdict, stage } = judgement ?? {}
  return { status, verdict, stage, decided: decisionId !== undefined, method, host, path, upstreamFailure, asked }
}

it("has the same result in both versions", async () => {
  const path = fc.constantFrom(
    "/open",
    "/open/../admin",
    "/admin/x?y=z",
    "/%61dmin",
    "/a%00b",
    "/x",
    "/open/teapot",
    "//open",
  )
  const name = fc.constantFrom(
    "x-team",
    "x-other",
    "x_forwarded_for",
    "x-forwarded-for",
    "x-forwarded-client-cert",
    "te",
  )
  const value = fc.constantFrom("red", "blue", "trailers", "1.2.3.4", "a, b")
  const request: fc.Arbitrary<Asked> = fc.record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "FROB", "OPTIONS"),
    path,
    host: fc.constantFrom("a.example", "b.example:80", "A.example"),
    headers: fc
      .array(fc.tuple(name, value), { maxLength: 3 })
      .map(list => list.filter(([key, text]) => (key === "te") === (text === "trailers")))
      // Node's client does not send a second `te`.
      .filter(list => list.filter(([key]) => key === "te").length < 2),
    body: fc.option(fc.constantFrom("", "content"), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(request, async wanted => {
      expect(await outcome(overHttp2, wanted)).toEqual(await outcome(overHttp1, wanted))
    }),
    { numRuns: 80 * inject("effort") },
  )
})
