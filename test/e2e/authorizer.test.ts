// SPDX-License-Identifier: Apache-2.0
// Real gateways ask a real `merlond authorizer`. What they allow, and how the application sees it, is what an xserver with the
// same policies allows.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { eventually } from "../../packages/cluster/src/store/testing/eventually.js"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { blocks } from "../../scripts/markdown-blocks.js"
import { address, Envoy, type } from "./control/support/envoy.js"
import { type Application, startApplication } from "./support/application.js"
import { document, XserverProcess } from "./support/xserver.js"

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

interface Credentials {
  readonly user: unknown
  readonly lookalike: unknown
  readonly token: unknown
}

interface Seen {
  readonly status: number
  /** What the application saw of the request, where it came so far. */
  readonly application: ({ readonly url: string } & Credentials) | undefined
}

let application: Application
let xserver: XserverProcess
const tokens: Record<string, string | undefined> = {}
const ended: (() => unknown)[] = []

beforeAll(async () => {
  application = await startApplication()
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const token = (issuer: string, subject: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(issuer)
      .setSubject(subject)
      .sign(privateKey)
  tokens.none = undefined
  tokens.good = await token("https://issuer.example", "alice")
  tokens.other = await token("https://issuer.example", "bob")
  tokens.umlaut = await token("https://issuer.example", "zoë")
  tokens.foreign = await token("https://other.example", "alice")
  tokens.broken = `${tokens.good}x`
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] })
  policies = [
    document("RequestAuthentication", "issuer", {
      jwtRules: [
        {
          issuer: "https://issuer.example",
          jwks,
          outputClaimToHeaders: [{ header: "x-user", claim: "sub" }],
        },
      ],
    }),
    document("AuthorizationPolicy", "allowed", {
      rules: [
        { to: [{ operation: { methods: ["GET", "HEAD"], paths: ["/public/*"] } }] },
        {
          from: [{ source: { requestPrincipals: ["https://issuer.example/alice"] } }],
          to: [{ operation: { paths: ["/private/*", "/admin"], hosts: ["shop.example"] } }],
        },
      ],
    }),
    document("AuthorizationPolicy", "denied", {
      action: "DENY",
      denyResponse: { status: 429, body: "later", headers: [{ name: "retry-after", value: "60" }] },
      rules: [
        {
          to: [{ operation: { paths: ["/admin"] } }],
          when: [{ key: "request.headers[x-role]", notValues: ["admin"] }],
        },
      ],
    }),
  ]
  xserver = await XserverProcess.start({ upstream: application.port, policies })
  ended.push(() => xserver.remove())
})
afterAll(async () => {
  for (const end of ended.reverse()) await end()
  await application?.close()
})

let policies: readonly object[] = []

/** The block of the page that people copy and that has these words. */
function documented(language: string, words: string): string {
  const all = blocks(readFileSync("docs/authorizer.md", "utf8"))
  const found = all.find(block => block.language === language && block.text.includes(words))
  if (found === undefined) throw new Error(`docs/authorizer.md has no block \`${language}\` with \`${words}\``)
  return found.text
}

async function startAuthorizer(args: readonly string[]): Promise<XserverProcess> {
  const authorizer = await XserverProcess.start({ upstream: 1, policies, command: "authorizer", args })
  ended.push(() => authorizer.remove())
  return authorizer
}

function ask(port: number, { method, path, headers }: Asked): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const before = application.requests.length
    const call = request({ host: "127.0.0.1", port, method, path, headers: { host: "shop.example", ...headers } })
    call.on("error", reject)
    call.on("response", response => {
      response.resume()
      response.on("end", () => {
        const arrived = application.requests.slice(before)[0]
        resolve({
          status: response.statusCode ?? 0,
          application: arrived && { url: arrived.url, ...credentialsIn(arrived.headers) },
        })
      })
    })
    call.end()
  })
}

/** Who the application would take the caller for. */
function credentialsIn(headers: Readonly<Record<string, unknown>>): Credentials {
  const { "x-user": user, x_user: lookalike, authorization: token } = headers
  return { user, lookalike, token }
}

const asked = fc
  .record({
    method: fc.constantFrom("GET", "HEAD", "POST", "DELETE"),
    path: fc.constantFrom("/public/a", "/public/a?x=1", "/private/a", "/admin", "/", "/publicity"),
    token: fc.constantFrom("none", "none", "good", "other", "umlaut", "foreign", "broken"),
    role: fc.constantFrom(undefined, "admin", "guest"),
    user: fc.constantFrom(undefined, "mallory"),
    xUser: fc.constantFrom(undefined, "mallory"),
  })
  .map(({ method, path, token, role, user, xUser }): Asked => {
    const headers = {
      authorization: tokens[token] === undefined ? undefined : `Bearer ${tokens[token]}`,
      "x-role": role,
      "x-user": user,
      x_user: xUser,
    }
    const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return { method, path, headers: Object.fromEntries(sent) }
  })

/** `asGateway`: how the gateway reports a status of the authorizer that is neither 401 nor 403. */
async function agreesWithXserver(gateway: number, asGateway: (status: number) => number = status => status) {
  await fc.assert(
    fc.asyncProperty(asked, async each => {
      const expected = await ask(xserver.port, each)
      const got = await ask(gateway, each)
      expect(got).toEqual({ ...expected, status: asGateway(expected.status) })
    }),
    { numRuns: 60 },
  )
}

const SPELLINGS = ["/public//a", "/public/%2e%2e/private/a", "/public/./a", "/public/\\a"]

async function deniesOtherSpellings(gateway: number, spellings = SPELLINGS): Promise<void> {
  for (const path of spellings) {
    const { status, application: seen } = await ask(gateway, { method: "GET", path, headers: {} })
    expect([path, seen, status >= 400], path).toEqual([path, undefined, true])
  }
}

describe("xserver with a CUSTOM policy", () => {
  const custom = document("AuthorizationPolicy", "ask", {
    action: "CUSTOM",
    provider: { name: "authorizer" },
    rules: [{}],
  })

  it.each([
    ["gRPC", { protocol: "grpc" }, []],
    ["HTTP", { protocol: "http", pathPrefix: "/ext-authz" }, []],
    ["AuthZEN", { protocol: "authzen" }, ["--authzen", "--trust-peer", "authzen", "--trust-address", "authzen"]],
  ])("decides as one with the policies themselves, asking by %s", async (_, how, args) => {
    const authorizer = await startAuthorizer(args)
    const provider = {
      ...how,
      name: "authorizer",
      address: `127.0.0.1:${authorizer.port}`,
      timeoutMs: 30_000,
      sendHeaders: ["*"],
      headersToUpstream: ["x-user"],
    }
    const mesh = { providers: [provider] }
    const asking = await XserverProcess.start({ upstream: application.port, policies: [custom], more: { mesh } })
    ended.push(() => asking.remove())
    await agreesWithXserver(asking.port)
    await authorizer.kill()
    const denied = await fetch(`${asking.url}/public/a`)
    expect(denied.status).toBe(403)
    const id = denied.headers.get("x-merlon-decision")
    const decision = await fetch(`http://127.0.0.1:${asking.admin}/decisions/${id}`)
    expect(await decision.text()).toContain("no answer from provider `authorizer`: it cannot be reached")
  })
})

it("decides as xserver does, asked by AuthZEN", async () => {
  const authorizer = await startAuthorizer(["--authzen", "--trust-peer", "authzen", "--trust-address", "authzen"])
  await fc.assert(
    fc.asyncProperty(asked, async ({ method, path, headers }) => {
      // Such a header is denied, because nothing obliges the caller of the API to remove it.
      const { x_user: _, ...sent } = headers
      const { status, application: seen } = await ask(xserver.port, { method, path, headers: sent })
      const response = await fetch(`${authorizer.url}/access/v1/evaluation`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          subject: { type: "anonymous", id: "", properties: { ip_address: "127.0.0.1" } },
          action: { name: method },
          resource: { type: "http", id: path, properties: { host: "shop.example" } },
          context: { headers: sent },
        }),
      })
      const denied = { decision: false, context: { status } }
      expect(await response.json()).toMatchObject(seen === undefined ? denied : { decision: true })
    }),
    { numRuns: 40 },
  )
})

describe("Envoy", { tags: ["needs/envoy"] }, () => {
  const http2 = {
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        ...type("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"),
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
  }
  const cluster = (name: string, port: number, more: object = {}) => ({
    name,
    type: "STATIC",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
    ...more,
  })

  async function gateway(authorizer: XserverProcess, filter: string, more: object = {}): Promise<Envoy> {
    // The page's timeout is a gateway's; a machine that runs tests may be slower.
    const authz: unknown = parse(filter.replace("timeout: 1s", "timeout: 60s"))
    const router = type("envoy.extensions.filters.http.router.v3.Router")
    const manager = {
      ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
      stat_prefix: "gateway",
      route_config: {
        virtual_hosts: [
          { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "application" } }] },
        ],
      },
      http_filters: [authz, { name: "envoy.filters.http.router", typed_config: router }],
    }
    const envoy = await Envoy.configured(port => ({
      clusters: [cluster("application", application.port), cluster("authorizer", authorizer.port, more)],
      listeners: [
        {
          name: "gateway",
          address: address(port),
          filter_chains: [
            { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] },
          ],
        },
      ],
    }))
    ended.push(() => envoy.close())
    await eventually(`Envoy answers: ${envoy.log}`, async () => {
      const answer = await fetch(`http://127.0.0.1:${envoy.admin}/ready`).catch(() => undefined)
      return answer?.status === 200
    })
    return envoy
  }

  it("decides as xserver does, asking by gRPC", async () => {
    const authorizer = await startAuthorizer([])
    const envoy = await gateway(authorizer, documented("envoy", "grpc_service"), http2)
    await agreesWithXserver(envoy.port)
    await deniesOtherSpellings(envoy.port)
    await authorizer.kill()
    expect(await ask(envoy.port, { method: "GET", path: "/public/a", headers: {} })).toMatchObject({
      status: 403,
      application: undefined,
    })
  })

  it("decides as xserver does, asking by HTTP", async () => {
    const authorizer = await startAuthorizer([])
    const envoy = await gateway(authorizer, documented("envoy", "http_service"))
    await agreesWithXserver(envoy.port)
    await deniesOtherSpellings(envoy.port)
  })
})

describe("HAProxy", { tags: ["needs/haproxy"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-haproxy-"))
    const port = await freePort()
    const script = documented("lua", "register_action")
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
      // The page's timeout is a gateway's; a machine that runs tests may be slower.
      .replace("timeout = 1000", "timeout = 60000")
    const configuration = documented("haproxy", "lua.authorize")
      .replace("/etc/haproxy/authorize.lua", join(folder, "authorize.lua"))
      .replace("127.0.0.1:8082", `127.0.0.1:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${application.port}`)
    writeFileSync(join(folder, "authorize.lua"), script)
    writeFileSync(join(folder, "haproxy.cfg"), configuration)
    const child = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "ignore" })
    ended.push(() => stopped(child, folder))
    await eventually("HAProxy answers", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
      return answer !== undefined
    })
    return port
  }

  it("decides as xserver does, asking by Lua", async () => {
    const authorizer = await startAuthorizer(["--forward-auth", "nginx"])
    const port = await gateway(authorizer)
    await agreesWithXserver(port)
    await deniesOtherSpellings(port)
    await authorizer.kill()
    const { status, application: seen } = await ask(port, { method: "GET", path: "/public/a", headers: {} })
    expect([status, seen]).toEqual([503, undefined])
  })
})

async function stopped(child: ChildProcess, folder: string): Promise<void> {
  const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined
  child.kill("SIGKILL")
  await gone
  rmSync(folder, { recursive: true, force: true })
}

describe("nginx", { tags: ["needs/nginx"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-nginx-"))
    const port = await freePort()
    const server = documented("nginx", "auth_request")
      .replace("listen 127.0.0.1:8081", `listen 127.0.0.1:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${application.port}`)
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      name => `${name}_temp_path ${join(folder, name)};`,
    )
    const configuration = [
      `daemon off; master_process off; pid ${join(folder, "pid")}; error_log stderr error;`,
      "events { worker_connections 64; }",
      `http { access_log off; ${temporary.join(" ")}`,
      server,
      "}",
    ].join("\n")
    writeFileSync(join(folder, "nginx.conf"), configuration)
    const child: ChildProcess = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" })
    ended.push(() => stopped(child, folder))
    await eventually("nginx answers", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
      return answer !== undefined
    })
    return port
  }

  it("decides as xserver does, asking by auth_request", async () => {
    const authorizer = await startAuthorizer(["--forward-auth", "nginx"])
    const port = await gateway(authorizer)
    await agreesWithXserver(port, status => (status === 429 ? 500 : status))
    await deniesOtherSpellings(port)
    await authorizer.kill()
    const { status, application: seen } = await ask(port, { method: "GET", path: "/public/a", headers: {} })
    expect([status, seen]).toEqual([500, undefined])
  })
})

describe("OPA as a provider of CUSTOM policies", { tags: ["needs/opa-ext-authz"] }, () => {
  const REGO = `package envoy.authz

request := input.attributes.request.http

default allow := {"allowed": false, "http_status": 401, "body": "not by OPA", "headers": {"www-authenticate": "OPA", "x-secret": "1"}}

allow := {"allowed": true, "headers": {"x-user": "opa", "x-secret": "1"}} if {
\trequest.method == "GET"
\tstartswith(request.path, "/public/")
\trequest.headers["x-role"] == "admin"
}
`

  it("allows and denies as its policy says, and denies when it is gone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "merlon-opa-"))
    const port = await freePort()
    writeFileSync(join(folder, "policy.rego"), REGO)
    const child = spawn("opa-ext-authz", [`127.0.0.1:${port}`, join(folder, "policy.rego")], { stdio: "ignore" })
    ended.push(() => stopped(child, folder))
    const provider = {
      name: "opa",
      protocol: "grpc",
      address: `127.0.0.1:${port}`,
      timeoutMs: 30_000,
      sendHeaders: ["x-role"],
      headersToUpstream: ["x-user"],
    }
    const custom = document("AuthorizationPolicy", "ask", { action: "CUSTOM", provider: { name: "opa" }, rules: [{}] })
    const more = { mesh: { providers: [provider] } }
    const asking = await XserverProcess.start({ upstream: application.port, policies: [custom], more })
    ended.push(() => asking.remove())
    await eventually("OPA answers", async () => (await fetch(`${asking.url}/`)).status === 401)
    await fc.assert(
      fc.asyncProperty(asked, async each => {
        const isAllowed =
          each.method === "GET" && each.path.startsWith("/public/") && each.headers["x-role"] === "admin"
        const { status, application: seen } = await ask(asking.port, each)
        expect([status, seen?.user]).toEqual(isAllowed ? [200, "opa"] : [401, undefined])
      }),
      { numRuns: 40 },
    )
    const denied = await fetch(`${asking.url}/orders`)
    const { headers } = denied
    expect([await denied.text(), headers.get("www-authenticate"), headers.get("x-secret")]).toEqual([
      "not by OPA",
      "OPA",
      null,
    ])
    child.kill("SIGKILL")
    await once(child, "exit")
    expect((await fetch(`${asking.url}/public/a`, { headers: { "x-role": "admin" } })).status).toBe(403)
  })
})

describe("Caddy", { tags: ["needs/caddy"] }, () => {
  async function gateway(authorizer: XserverProcess): Promise<number> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-caddy-"))
    const port = await freePort()
    const site = documented("caddy", "forward_auth")
      .replace(":8083", `http://127.0.0.1:${port}, http://shop.example:${port}`)
      .replace("127.0.0.1:8080", `127.0.0.1:${application.port}`)
      .replace("127.0.0.1:9000", `127.0.0.1:${authorizer.port}`)
    writeFileSync(join(folder, "Caddyfile"), `{\n  admin off\n  auto_https off\n  persist_config off\n}\n${site}`)
    const environment = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const child = spawn("caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")], {
      stdio: "ignore",
      env: environment,
    })
    ended.push(() => stopped(child, folder))
    await eventually("Caddy answers", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
      return answer !== undefined
    })
    return port
  }

  it("decides as xserver does, asking by forward_auth", async () => {
    const authorizer = await startAuthorizer(["--forward-auth", "caddy"])
    const port = await gateway(authorizer)
    await agreesWithXserver(port)
    // Caddy escapes a backslash, for the authorizer and for the application alike.
    await deniesOtherSpellings(
      port,
      SPELLINGS.filter(path => !path.includes("\\")),
    )
    await authorizer.kill()
    const { status, application: seen } = await ask(port, { method: "GET", path: "/public/a", headers: {} })
    expect([status, seen]).toEqual([502, undefined])
  })
})
