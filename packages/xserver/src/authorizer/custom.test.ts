// SPDX-License-Identifier: Apache-2.0
// CUSTOM policies of an authorizer: it queries their providers as a proxy would, and never itself.

import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { readProviders } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { startAuthorizer } from "./testing/start-authorizer.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function provider(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server: Server = createServer(answer)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port // a TCP server has an AddressInfo
}

/** The port of a server that was closed. */
async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // a TCP server has an AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const declared = (name: string, port: number, more: object = {}) => ({
  name,
  protocol: "http",
  address: `127.0.0.1:${port}`,
  timeoutMs: 30_000,
  ...more,
})
const asks = (name: string, path: string) =>
  authorization(`ask-${name}`, {
    action: "CUSTOM",
    provider: { name },
    rules: [{ to: [{ operation: { paths: [path] } }] }],
  })

async function start(name: string, port: number, providers: readonly object[], policies: readonly PolicyDocument[]) {
  const trust = { gateways: ["127.0.0.1"], authzen: true, forwardAuth: "traefik" } as const
  const authorizer = await startAuthorizer({
    name,
    port,
    trust,
    policies,
    mesh: { providers: readProviders(providers, "") },
  })
  cleanups.push(() => authorizer.path.drain())
  return authorizer
}

/** The same question by three protocols; each returns the status of the decision. */
const PROTOCOLS = {
  "HTTP ext_authz": (port: number, path: string) =>
    fetch(`http://127.0.0.1:${port}/ext-authz${path}`, { redirect: "manual" }).then(({ status }) => status),
  "forward authentication": (port: number, path: string) =>
    fetch(`http://127.0.0.1:${port}/forward-auth`, {
      redirect: "manual",
      headers: {
        "x-forwarded-method": "GET",
        "x-forwarded-uri": path,
        "x-forwarded-host": "shop.example",
        "x-forwarded-proto": "http",
      },
    }).then(({ status }) => status),
  AuthZEN: async (port: number, path: string) => {
    const { decision, context } = await evaluate(port, path)
    return decision ? 200 : context.status
  },
}

const evaluation = (path: string, more: object = {}) => ({
  subject: { type: "anonymous", id: "" },
  action: { name: "GET" },
  resource: { type: "http", id: path, properties: { host: "shop.example" } },
  ...more,
})

async function call(port: number, path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return JSON.parse(await response.text())
}

const evaluate = (port: number, path: string) => call(port, "/access/v1/evaluation", evaluation(path))

describe.each(Object.entries(PROTOCOLS))("by %s", (_, ask) => {
  it("asks the provider, before DENY and ALLOW", async () => {
    const asked: string[] = []
    const ext = await provider((request, response) => {
      asked.push(request.url ?? "")
      response.writeHead(request.url === "/asked/no" ? 401 : 200).end()
    })
    const denied = authorization("denied", {
      action: "DENY",
      rules: [{ to: [{ operation: { paths: ["/asked/denied"] } }] }],
    })
    const { port } = await start("gate-1", await freePort(), [declared("ext", ext)], [asks("ext", "/asked/*"), denied])
    expect(await ask(port, "/asked/yes")).toBe(200)
    expect(await ask(port, "/asked/no")).toBe(401)
    expect(await ask(port, "/asked/denied")).toBe(403)
    expect(await ask(port, "/other")).toBe(200)
    expect(asked).toEqual(["/asked/yes", "/asked/no", "/asked/denied"])
  })

  it("denies if the provider fails, is slow or sends too much, unless it fails open", async () => {
    const slow = await provider(() => undefined)
    const big = await provider((_, response) => response.end("x".repeat(100_000)))
    const dead = await freePort()
    const providers = [
      declared("dead", dead),
      declared("open", dead, { failureMode: "open" }),
      declared("slow", slow, { timeoutMs: 50 }),
      declared("big", big),
    ]
    const names = ["dead", "open", "slow", "big", "undeclared"]
    const policies = names.map(name => asks(name, `/${name}`))
    const { port } = await start("gate-1", await freePort(), providers, policies)
    const statuses = await Promise.all(names.map(name => ask(port, `/${name}`)))
    expect(statuses).toEqual([403, 200, 403, 403, 403])
  })

  it("denies if an authorizer would query itself, directly or through another one", async () => {
    const [self, first, second] = await Promise.all([freePort(), freePort(), freePort()])
    const everywhere = { pathPrefix: "/ext-authz", failureMode: "open" }
    const alone = await start("gate-1", self, [declared("self", self, everywhere)], [asks("self", "/*")])
    await start("gate-2", first, [declared("other", second, everywhere)], [asks("other", "/*")])
    await start("gate-3", second, [declared("other", first, everywhere)], [asks("other", "/*")])
    expect(await ask(self, "/a")).toBe(403)
    expect(await ask(first, "/a")).toBe(403)
    const reasons = (await alone.path.decisions()).map(({ reason }) => reason)
    expect(reasons.join("\n")).toContain("asks a provider that asks this authorizer")
  })
})

describe("an authorizer with providers", () => {
  it("sets the headers that a provider writes, and removes those it names", async () => {
    const ext = await provider((request, response) => {
      const to = {
        "x-user": "alice",
        "x-envoy-auth-headers-to-remove": "x-secret",
        "x-role": request.headers["x-role"] ?? "",
      }
      response.writeHead(200, to).end()
    })
    const how = { headersToUpstream: ["x-user"], sendHeaders: ["x-role"] }
    const { port } = await start("gate-1", await freePort(), [declared("ext", ext, how)], [asks("ext", "/*")])
    const context = { headers: { "x-role": "admin", "x-secret": "s" } }
    expect(await call(port, "/access/v1/evaluation", evaluation("/a", { context }))).toEqual({
      decision: true,
      context: { set_headers: [{ name: "x-user", value: "alice" }], remove_headers: ["x-secret"] },
    })
  })

  it("evaluates a batch in order, and stops as requested", async () => {
    const ext = await provider((request, response) => {
      setTimeout(() => response.writeHead(request.url === "/b" ? 403 : 200).end(), request.url === "/a" ? 50 : 0)
    })
    const { port } = await start("gate-1", await freePort(), [declared("ext", ext)], [asks("ext", "/*")])
    const evaluations = ["/a", "/b", "/c"].map(path => ({ resource: evaluation(path).resource }))
    const run = async (semantic: string) => {
      const asked = { ...evaluation("/"), evaluations, options: { evaluations_semantic: semantic } }
      const answer = await call(port, "/access/v1/evaluations", asked)
      return answer.evaluations.map(({ decision }: { decision: boolean }) => decision)
    }
    expect(await run("execute_all")).toEqual([true, false, true])
    expect(await run("deny_on_first_deny")).toEqual([true, false])
    expect(await run("permit_on_first_permit")).toEqual([true])
  })

  it("answers other questions while a provider is slow", async () => {
    const waiting: ServerResponse[] = []
    const ext = await provider((request, response) => {
      if (request.url === "/slow") waiting.push(response)
      else response.end()
    })
    const { port } = await start("gate-1", await freePort(), [declared("ext", ext)], [asks("ext", "/*")])
    const slow = PROTOCOLS["HTTP ext_authz"](port, "/slow")
    await eventually(() => waiting.length === 1, { what: "the provider is asked" })
    expect(await PROTOCOLS["HTTP ext_authz"](port, "/a")).toBe(200)
    for (const response of waiting) response.writeHead(401).end()
    expect(await slow).toBe(401)
  })

  it("sends a provider the authorizers that wait for it", async () => {
    const seen: unknown[] = []
    const ext = await provider((request, response) => {
      seen.push(request.headers["x-merlon-asked-by"])
      void text(request).then(() => response.end())
    })
    const { port } = await start("gate-1", await freePort(), [declared("ext", ext)], [asks("ext", "/*")])
    await fetch(`http://127.0.0.1:${port}/ext-authz/a`, { headers: { "x-merlon-asked-by": "shop/gate-2" } })
    const status = await fetch(`http://127.0.0.1:${port}/ext-authz/a`, {
      headers: { "x-merlon-asked-by": "a/1, a/2, a/3, a/4" },
    })
    expect([seen, status.status]).toEqual([["shop/gate-2, shop/gate-1"], 403])
  })
})
