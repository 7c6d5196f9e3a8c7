// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { Readable } from "node:stream"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { assetsOf } from "./assets.js"
import { type Console, startConsole } from "./console.js"
import type { ApiExchange } from "./exchange.js"
import { OneTimeCodes } from "./one-time-codes.js"

const TOKEN = "jane.s-token"
const GROUP = "/apis/security.merlon.dev/v1"
const codes = new OneTimeCodes(randomBytes(32))
let api: Server
let seen: string[] = []
let console: Console
let failures: unknown[] = []

/** The bytes on the wire: UTF-8, with each byte as a character. */
const WARNING = Buffer.from('299 - "beware of café…"').toString("latin1")

/** An exchange over a real socket, as in production. */
function exchange(token: string): ApiExchange {
  const { port } = api.address() as AddressInfo // it listens on a port
  return {
    send: async ({ method, path, accept, contentType, body }, signal) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { accept, authorization: `Bearer ${token}`, ...(contentType && { "content-type": contentType }) },
        body: body === undefined ? null : new Uint8Array(body),
        signal,
      })
      const warning = answer.headers.get("warning")
      return {
        status: answer.status,
        contentType: answer.headers.get("content-type") ?? "",
        warnings: warning === null ? [] : [warning],
        body: answer.body === null ? Readable.from([]) : Readable.fromWeb(answer.body as never), // two types of one thing
      }
    },
    close: () => Promise.resolve(),
  }
}

beforeEach(async () => {
  seen = []
  failures = []
  api = createServer((request, response) => {
    seen.push(
      `${request.method} ${request.url} ${request.headers.authorization} ${request.headers.cookie ?? ""}`.trim(),
    )
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return void response.writeHead(401).end("{}")
    if (request.url?.endsWith("selfsubjectreviews")) {
      response.writeHead(201, { "content-type": "application/json" })
      return void response.end(JSON.stringify({ status: { userInfo: { username: "jane", groups: ["dev"] } } }))
    }
    if (request.url?.includes("html")) {
      return void response.writeHead(200, { "content-type": "text/html", "set-cookie": "a=b" }).end("<script>")
    }
    response.writeHead(200, { "content-type": "application/json", warning: WARNING }).end('{"items":[]}')
  })
  await new Promise<void>(resolve => api.listen(0, "127.0.0.1", resolve))
  const assets = assetsOf([
    ["index.html", Buffer.from('<style nonce="NONCE"></style>')],
    ["assets/app-1.js", Buffer.from("let a = 1")],
  ])
  if (assets === undefined) throw new Error("there is a page")
  console = await startConsole({
    ...{ host: "127.0.0.1", port: 0, hosts: [], version: "1", assets },
    names: {
      ...{ mesh: "merlon", domain: "merlon.dev", rootNamespace: "merlon-system" },
      ...{ securityGroup: "security.merlon.dev", networkingGroup: "networking.merlon.dev" },
      answersGroup: "answers.merlon.dev",
    },
    signIn: { withToken: exchange, withCode: { codes, api: () => exchange(TOKEN) } },
    onError: error => failures.push(error),
  })
})

afterEach(async () => {
  await console.close()
  await new Promise(resolve => api.close(resolve))
  expect(failures).toEqual([])
})

const at = (path: string): string => `http://127.0.0.1:${console.port}${path}`

async function enter(shown: object): Promise<{ readonly status: number; readonly headers: Record<string, string> }> {
  const answer = await fetch(at("/session"), { method: "POST", body: JSON.stringify(shown) })
  const { page } = (await answer.json()) as { page?: string }
  const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? ""
  return { status: answer.status, headers: { cookie, "x-merlon-page": page ?? "" } }
}

describe("signing in", () => {
  it("takes a token that the API accepts, and returns its user", async () => {
    const { status, headers } = await enter({ token: TOKEN })
    expect(status).toBe(200)
    const session = await (await fetch(at("/session"), { headers })).json()
    expect((session as { user: unknown }).user).toMatchObject({ name: "jane", groups: ["dev"] })
  })

  it("takes the code of a link once", async () => {
    const code = codes.make()
    expect((await enter({ code })).status).toBe(200)
    expect((await enter({ code })).status).toBe(401)
  })

  test.each([
    ["a token that the API does not know", { token: "other" }, 401],
    ["a token that would be two headers", { token: "a\r\nx: y" }, 401],
    ["a code that nobody made", { code: "x" }, 401],
    ["nothing", {}, 400],
    ["a token that is no text", { token: 7 }, 400],
  ])("rejects %s", async (_, shown, status) => {
    expect((await enter(shown)).status).toBe(status)
  })

  it("sets a cookie that no script and no other site can read", async () => {
    const answer = await fetch(at("/session"), { method: "POST", body: JSON.stringify({ token: TOKEN }) })
    expect(answer.headers.get("set-cookie")).toMatch(/^merlon-console=[\w-]{43}; HttpOnly; SameSite=Strict$/)
  })

  it("never returns the token", async () => {
    const { headers } = await enter({ token: TOKEN })
    expect(await (await fetch(at("/session"), { headers })).text()).not.toContain(TOKEN)
  })

  it("ends with a sign-out", async () => {
    const { headers } = await enter({ token: TOKEN })
    await fetch(at("/session"), { method: "DELETE", headers })
    expect((await fetch(at(`/api${GROUP}/authorizationpolicies`), { headers })).status).toBe(401)
  })
})

describe("the API", () => {
  it("is called with the user's token, and without the page's cookie", async () => {
    const { headers } = await enter({ token: TOKEN })
    const answer = await fetch(at(`/api${GROUP}/authorizationpolicies?limit=5`), { headers })
    expect(await answer.json()).toEqual({ items: [] })
    expect(answer.headers.get("warning")).toBe(WARNING)
    expect(seen.at(-1)).toBe(`GET ${GROUP}/authorizationpolicies?limit=5 Bearer ${TOKEN}`)
  })

  it.each([
    ["the cookie", "cookie"],
    ["the page's key", "x-merlon-page"],
  ])("is not called without %s", async (_, missing) => {
    const { headers } = await enter({ token: TOKEN })
    const before = seen.length
    const answer = await fetch(at(`/api${GROUP}/authorizationpolicies`), { headers: { ...headers, [missing]: "" } })
    expect(answer.status).toBe(401)
    expect(seen.length).toBe(before)
  })

  it("is not called for paths that the page does not need", async () => {
    const { headers } = await enter({ token: TOKEN })
    expect((await fetch(at("/api/api/v1/namespaces/foo/secrets"), { headers })).status).toBe(403)
  })

  it("cannot respond with a page or set cookies", async () => {
    const { headers } = await enter({ token: TOKEN })
    const answer = await fetch(at(`/api${GROUP}/html`), { headers })
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8")
    expect(answer.headers.get("content-security-policy")).toContain("sandbox")
    expect(answer.headers.get("set-cookie")).toBeNull()
  })

  it("gets no body above its limit", async () => {
    const { headers } = await enter({ token: TOKEN })
    const path = `/api${GROUP}/namespaces/foo/authorizationpolicies`
    const answer = await fetch(at(path), { method: "POST", headers, body: "x".repeat((4 << 20) + 1) })
    expect(answer.status).toBe(413)
  })

  it("is reported as unavailable", async () => {
    const { headers } = await enter({ token: TOKEN })
    api.closeAllConnections()
    await new Promise(resolve => api.close(resolve))
    const answer = await fetch(at(`/api${GROUP}/authorizationpolicies`), { headers })
    expect(answer.status).toBe(502)
    api = createServer().listen(0)
  })
})

describe("the page", () => {
  it("runs only its own files, in no frame", async () => {
    const answer = await fetch(at("/"))
    const policy = answer.headers.get("content-security-policy") ?? ""
    const nonce = /'nonce-([\w-]+)'/.exec(policy)?.[1]
    expect(await answer.text()).toBe(`<style nonce="${nonce}"></style>`)
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
  })

  it("has files that browsers cache", async () => {
    const answer = await fetch(at("/assets/app-1.js"))
    expect(await answer.text()).toBe("let a = 1")
    expect(answer.headers.get("cache-control")).toContain("immutable")
  })

  it.each(["/assets/../package.json", "/assets/%2e%2e/x", "/nothing", "//etc/passwd"])("has no %s", async path => {
    expect(await raw(path, "127.0.0.1")).toMatch(/^HTTP\/1\.1 404/)
  })

  it("is not served under another host name", async () => {
    expect(await raw("/", "attacker.example")).toMatch(/^HTTP\/1\.1 403/)
  })
})

/** A raw request, because HTTP clients normalize paths. */
function raw(path: string, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(console.port, "127.0.0.1")
    let text = ""
    socket
      .on("data", chunk => (text += chunk))
      .on("end", () => resolve(text))
      .on("error", reject)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  })
}

it("does not log a client that leaves in the middle of a request as an error", async () => {
  const socket = connect(console.port, "127.0.0.1")
  socket.write("POST /session HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
  // The server is reading now.
  await new Promise(resolve => socket.once("data", resolve))
  socket.end("{")
  // The server has seen the end of the connection now.
  await new Promise(resolve => socket.once("close", resolve))
  await fetch(at("/session"))
  expect(failures).toEqual([])
})
