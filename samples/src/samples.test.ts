// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import type { Server } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { addressOf, echo, greeting, listen, settingsOf } from "./index.js"
import { published } from "./key-set.js"

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

async function started(listener: Parameters<typeof listen>[0]): Promise<string> {
  const server = await listen(listener, { host: "127.0.0.1", port: 0, version: "v1" })
  open.push(server)
  return addressOf(server)
}

describe("httpbin returns", () => {
  it("arguments, headers, origin and url of a GET", async () => {
    const url = await started(echo)
    const answer = await (await fetch(`${url}/get?a=1&b=2&b=3`, { headers: { "x-one": "1" } })).json()
    expect(answer).toMatchObject({
      args: { a: "1", b: ["2", "3"] },
      headers: { "X-One": "1", Host: new URL(url).host },
      origin: "127.0.0.1",
      url: `${url}/get?a=1&b=2&b=3`,
    })
  })

  it.each([
    ["JSON", "application/json", '{"a":[1]}', { data: '{"a":[1]}', json: { a: [1] }, form: {} }],
    ["a form", "application/x-www-form-urlencoded", "a=1&a=2&b=", { data: "", form: { a: ["1", "2"], b: "" } }],
    ["text", "text/plain", "hi", { data: "hi", json: null }],
  ])("the content of a request with %s", async (_, type, body, expected) => {
    const url = await started(echo)
    const answer = await fetch(`${url}/post`, { method: "POST", body, headers: { "content-type": type } })
    expect(await answer.json()).toMatchObject({ ...expected, method: "POST" })
  })

  it.each([
    ["GET", "/status/418", 418],
    ["GET", "/status/204", 204],
    ["GET", "/status/99", 400],
    ["GET", "/delay/0", 200],
    ["GET", "/ip", 200],
    ["HEAD", "/get", 200],
    ["PUT", "/anything/at/all", 200],
    ["GET", "/post", 405],
    ["GET", "/bytes/99999999999", 400],
    ["GET", "/nothing", 404],
  ])("%s %s with %i", async (method, path, status) => {
    expect((await fetch(`${await started(echo)}${path}`, { method })).status).toBe(status)
  })

  it("as many bytes as requested", async () => {
    const body = await (await fetch(`${await started(echo)}/bytes/70000`)).arrayBuffer()
    expect(body.byteLength).toBe(70_000)
  })

  it("413 if the body is too long", async () => {
    const answer = await fetch(`${await started(echo)}/post`, { method: "POST", body: Buffer.alloc((1 << 20) + 1) })
    expect(answer.status).toBe(413)
  })
})

it("web names its version", async () => {
  const url = await started(greeting("v2"))
  expect(await (await fetch(url)).text()).toBe("hello from web v2\n")
  expect((await fetch(`${url}/else`)).status).toBe(404)
})

it("the issuer publishes its keys at the URL of its discovery document", async () => {
  const url = await started(published('{"keys":[]}'))
  const discovered = (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as { jwks_uri: string }
  expect(await (await fetch(discovered.jwks_uri)).json()).toEqual({ keys: [] })
})

describe("the settings of a sample", () => {
  it("read the address from flags first, then from the environment", () => {
    expect(settingsOf([], {})).toEqual({ host: "0.0.0.0", port: 8080, version: "v1" })
    expect(settingsOf(["--port", "1"], { PORT: "2", HOST: "::1", VERSION: "v2" })).toEqual({
      host: "::1",
      port: 1,
      version: "v2",
    })
  })

  it.each(["x", "-1", "65536", ""])("reject the port `%s`", port => {
    expect(() => settingsOf([], { PORT: port })).toThrow("is no port")
  })
})

it("completes requests in flight on SIGTERM", async () => {
  const child: ChildProcess = spawn("node", ["samples/dist/httpbin.js", "--port", "0", "--host", "127.0.0.1"])
  const [line] = await once(child.stdout ?? expect.fail(), "data")
  const url = /http:\S+/.exec(String(line))?.[0] ?? ""
  const answer = fetch(`${url}/delay/1`)
  // A response to this later request proves that the earlier one is in flight.
  await fetch(`${url}/ip`)
  child.kill("SIGTERM")
  expect((await answer).status).toBe(200)
  const [code] = await once(child, "exit")
  expect(code).toBe(0)
})
