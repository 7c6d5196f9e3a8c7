// SPDX-License-Identifier: Apache-2.0
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { ApiError } from "./client.js"
import { Transport } from "./transport.js"

const open: { api: Transport; server: Server }[] = []
afterEach(async () => {
  for (const { api, server } of open.splice(0)) {
    await api.close()
    server.close()
    server.closeAllConnections()
  }
})

async function serving(listener: RequestListener, timeoutMs = 10_000) {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const warnings: string[] = []
  const tokens = ["first", "second"]
  const connection = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`,
    insecure: false,
    origin: "a test",
    credentials: async () => ({ token: tokens[0] ?? "" }),
    rejected: () => void tokens.shift(),
  }
  const api = new Transport(connection, { userAgent: "test", timeoutMs, warn: text => warnings.push(text) })
  open.push({ api, server })
  return { api, warnings }
}

const get = { method: "GET", path: "/api/v1" } as const

it("sends requests below the server's path, with credentials", async () => {
  const { api } = await serving((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { method, url, headers } = request
      response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }))
    })
  })
  const answer = await api.request({
    method: "PATCH",
    path: "/a?b=c",
    body: { d: "é" },
    contentType: "x/y",
    accept: "z/z",
  })
  expect(answer).toMatchObject({
    method: "PATCH",
    url: "/below/a?b=c",
    body: '{"d":"é"}',
    headers: { authorization: "Bearer first", "content-type": "x/y", accept: "z/z", "user-agent": "test" },
  })
})

it("reports each warning once", async () => {
  const { api, warnings } = await serving((_, response) => response.setHeader("warning", '299 - "odd"').end("{}"))
  await api.request(get)
  await api.request(get)
  expect(warnings).toEqual(["odd"])
})

it("retries once with new credentials if the old ones are rejected", async () => {
  const seen: string[] = []
  const { api } = await serving((request, response) => {
    seen.push(request.headers.authorization ?? "")
    response.statusCode = request.headers.authorization === "Bearer second" ? 200 : 401
    response.end("{}")
  })
  await api.request(get)
  expect(seen).toEqual(["Bearer first", "Bearer second"])
})

it("retries a limited number of times if the server is busy", async () => {
  let asked = 0
  const { api } = await serving((_, response) => {
    asked++
    response.writeHead(429, { "retry-after": "0.001" }).end("{}")
  })
  await expect(api.request(get)).rejects.toMatchObject({ code: 429 })
  expect(asked).toBe(4)
})

it("does not retry an unavailable server, unless configured to", async () => {
  let asked = 0
  const { api } = await serving((_, response) => {
    asked++
    response.writeHead(503).end("{}")
  })
  await expect(api.request(get)).rejects.toMatchObject({ code: 503 })
  expect(asked).toBe(1)
})

describe("reports a failure", () => {
  const status = (fields: object): string => JSON.stringify({ kind: "Status", message: "m", ...fields })
  it.each([
    [
      "in the server's words",
      404,
      status({ reason: "NotFound", message: "no such" }),
      { code: 404, reason: "NotFound", message: "no such" },
    ],
    [
      "with its causes",
      409,
      status({ reason: "Conflict", details: { causes: [{ reason: "R", message: "M", field: ".a" }, 7] } }),
      {
        causes: [
          { reason: "R", message: "M", field: ".a" },
          { reason: "", message: "", field: "" },
        ],
      },
    ],
    [
      "if something else answers",
      502,
      "<html>",
      {
        code: 502,
        message: "the API server answered 502 with a page; a proxy or another server may be answering at this address",
      },
    ],
    ["if the answer is not JSON", 200, "<html>", { code: 0, reason: "api-bad-response" }],
    ["if the answer is null", 200, "null", { code: 0, reason: "api-bad-response" }],
    ["if the answer is a list", 200, "[1]", { code: 0, reason: "api-bad-response" }],
    ["shortened if it is too long", 400, status({ message: "x".repeat(9_000) }), { message: `${"x".repeat(2_000)}…` }],
  ])("%s", async (_, code, body, expected) => {
    const { api } = await serving((__, response) => response.writeHead(code).end(body))
    await expect(api.request(get)).rejects.toMatchObject(expected)
  })

  it("if there is no server, with the address", async () => {
    const { api } = await serving(request => request.socket.destroy())
    const failure = await api.request(get).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({ code: 0, message: expect.stringContaining("http://127.0.0.1:") })
  })

  it("on a timeout", async () => {
    const { api } = await serving(() => undefined, 50)
    await expect(api.request(get)).rejects.toMatchObject({ code: 0, message: expect.stringContaining("took too long") })
  })
})

it("reads a stream line by line, however it is split", async () => {
  const { api } = await serving((_, response) => {
    response.write('{"a"')
    setImmediate(() => response.end(':1}\n\n{"b":2}\n'))
  })
  const lines: string[] = []
  for await (const line of api.lines(get, new AbortController().signal)) lines.push(line)
  expect(lines).toEqual(['{"a":1}', '{"b":2}'])
})

it("reports the server's last error if time is up before the next retry", async () => {
  const { api } = await serving((_, response) => {
    response.writeHead(429, { "retry-after": "10" }).end(JSON.stringify({ kind: "Status", message: "slow down" }))
  }, 500)
  await expect(api.request(get)).rejects.toMatchObject({ code: 429, message: "slow down" })
})

it("rejects a page as a watch, and accepts a document without a newline", async () => {
  const { api } = await serving((_, response) => response.setHeader("content-type", "text/html").end("<html>in"))
  const read = async (from: Transport): Promise<readonly string[]> => {
    const lines: string[] = []
    for await (const line of from.lines(get, new AbortController().signal)) lines.push(line)
    return lines
  }
  await expect(read(api)).rejects.toMatchObject({ code: 0, reason: "api-bad-response" })
  const { api: other } = await serving((_, response) => response.end('{"error":"in"}'))
  expect(await read(other)).toEqual(['{"error":"in"}'])
})
