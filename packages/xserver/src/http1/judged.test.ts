// SPDX-License-Identifier: Apache-2.0
// The effects of a decision on a request: rejections byte for byte, edits, and the headers that only the proxy sets.
import { generateKeyPairSync } from "node:crypto"
import type { PolicyDocument } from "@merlon/policy/resources"
import { eventually } from "@merlon/wire/testing"
import { SignJWT } from "jose"
import { afterEach, describe, expect, it, test } from "vitest"
import { Rig, type RigOptions } from "./testing/rig.js"

let rig: Rig
afterEach(() => rig.stop())

const document = (kind: PolicyDocument["kind"], spec: object, namespace = "foo"): PolicyDocument =>
  // The tables below contain specs as a user would write them; `compile` rejects an invalid one.
  ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind,
    metadata: { name: "p", namespace, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec,
  }) as PolicyDocument
const denyAdmin = document("AuthorizationPolicy", {
  action: "DENY",
  rules: [{ to: [{ operation: { paths: ["/admin*"] } }] }],
})
const strict = document("PeerAuthentication", { mtls: { mode: "STRICT" } }, "merlon-system")

/** Responds with the request's head as it arrived. */
const mirror: NonNullable<RigOptions["application"]> = (incoming, reply) => {
  incoming.resume().on("end", () => reply.end(JSON.stringify({ url: incoming.url, lines: incoming.rawHeaders })))
}

const start = async (options: RigOptions = {}): Promise<void> => {
  rig = await Rig.start({ application: mirror, ...options })
}

async function forwarded(text: string): Promise<{ url: string; header: (name: string) => string[] }> {
  const client = await rig.client()
  const response = await client.send(text).response()
  const { url, lines } = JSON.parse(Buffer.from(response.slice(response.indexOf("\r\n\r\n") + 4), "latin1").toString())
  const header = (name: string) =>
    lines.filter((_: string, index: number) => index % 2 === 1 && lines[index - 1].toLowerCase() === name)
  return { url, header }
}

describe("a request without Host", () => {
  test.each([
    ["ALLOW", { hosts: ["*"] }, 403],
    ["ALLOW", { notHosts: ["a"] }, 200],
    ["DENY", { hosts: ["*"] }, 200],
    ["DENY", { notHosts: ["a"] }, 403],
    ["ALLOW", { paths: ["/"] }, 200],
  ])("has no host under %s %j: %s", async (action, operation, status) => {
    await start({ documents: [document("AuthorizationPolicy", { action, rules: [{ to: [{ operation }] }] })] })
    const client = await rig.client()
    expect(await client.send("GET / HTTP/1.0\r\n\r\n").response()).toContain(`HTTP/1.1 ${status} `)
  })
})

describe("non-ASCII text", () => {
  const denyZoe = document("AuthorizationPolicy", {
    action: "DENY",
    rules: [{ when: [{ key: "request.headers[x-user]", values: ["Zoë"] }] }],
  })
  const utf8 = (text: string): string => Buffer.from(text).toString("latin1")

  test.each([
    [utf8("Zoë"), 403],
    [utf8("Zoé"), 200],
    ["Zoe", 200],
  ])("in a header is judged as UTF-8: %j", async (user, status) => {
    await start({ documents: [denyZoe] })
    const client = await rig.client()
    client.send(`GET / HTTP/1.1\r\nHost: a\r\nX-User: ${user}\r\n\r\n`)
    expect(await client.response()).toContain(`HTTP/1.1 ${status} `)
  })

  test.each(["Zoë", " Zoë\t"])(
    "in a claim that becomes a header is judged as the application reads it: %j",
    async name => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const claims = document("RequestAuthentication", {
        jwtRules: [
          {
            issuer: "i",
            jwks: JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }),
            outputClaimToHeaders: [{ header: "x-user", claim: "name" }],
          },
        ],
      })
      const token = await new SignJWT({ iss: "i", name }).setProtectedHeader({ alg: "ES256" }).sign(privateKey)
      const asked = `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`
      await start({ documents: [claims, denyZoe] })
      expect(await (await rig.client()).send(asked).response()).toContain("HTTP/1.1 403 ")
      rig.enforce(claims)
      expect((await forwarded(asked)).header("x-user")).toEqual([utf8("Zoë")])
    },
  )
})

describe("a rejection", () => {
  it("has the expected bytes and keeps the connection", async () => {
    await start({ documents: [denyAdmin] })
    const client = await rig.client()
    for (const path of ["/admin", "/a/../admin/x"]) {
      const rejected = await client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).response()
      expect(rejected.replace(/date: .*\r\n/, "").replace(/[0-9a-f]{20}/, "ID")).toBe(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 19\r\nx-merlon-decision: ID\r\n\r\nRBAC: access denied",
      )
    }
    expect(await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").response()).toMatch(/^HTTP\/1.1 200 /)
    expect(rig.meters.records.map(({ status, judgement }) => [status, judgement?.verdict])).toEqual([
      [403, "deny"],
      [403, "deny"],
      [200, "allow"],
    ])
    expect(rig.upstream.connections).toBe(1)
  })

  it("uses the mesh name in its header", async () => {
    await start({
      documents: [denyAdmin],
      mesh: { names: (await import("@merlon/policy/mesh")).meshNames({ mesh: "castle" }) },
    })
    const client = await rig.client()
    expect(await client.send("GET /admin HTTP/1.1\r\nHost: a\r\n\r\n").response()).toMatch(/x-castle-decision: /)
  })

  it("has no content for HEAD", async () => {
    await start({ documents: [denyAdmin] })
    const client = await rig.client()
    client.send("HEAD /admin HTTP/1.1\r\nHost: a\r\n\r\nHEAD /admin HTTP/1.0\r\n\r\n")
    const received = await client.all()
    expect(received.match(/HTTP\/1.1 403/g)?.length).toBe(2)
    expect(received).not.toMatch(/RBAC/)
  })

  test.each([
    ["Content-Length: 5\r\n\r\nhello", false],
    ["Content-Length: 5\r\n\r\nhe", false],
    ["Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false],
    ["Transfer-Encoding: chunked\r\n\r\n5\r\nhe", true],
    ["Content-Length: 100000\r\n\r\nhello", true],
    ["Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", true],
  ])("of a request with %j closes: %s", async (rest, closes) => {
    await start({ documents: [denyAdmin] })
    const client = await rig.client()
    client.send(`POST /admin HTTP/1.1\r\nHost: a\r\n${rest}`)
    const rejected = await client.response()
    expect(rejected).toMatch(/^HTTP\/1.1 403 /)
    expect(rejected.includes("connection: close")).toBe(closes)
    if (closes) {
      await client.until(({ ended }) => ended)
      return
    }
    if (rest.endsWith("he")) client.send("llo")
    expect(await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").response()).toMatch(/^HTTP\/1.1 200 /)
  })

  it("of a target without canonical form is a 400 without content", async () => {
    await start()
    const client = await rig.client()
    const rejected = await client.send("GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n").response()
    expect(rejected).toMatch(/^HTTP\/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-merlon-decision: /)
  })

  it("by the mode closes the connection without a response", async () => {
    await start()
    const client = await rig.client()
    expect(await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").response()).toMatch(/^HTTP\/1.1 200 /)
    rig.enforce(strict)
    expect(await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").all()).toBe("")
    expect(rig.meters.records[1]).toMatchObject({ status: 0, judgement: { stage: "transport" } })
  })
})

describe("a missing part of a request", () => {
  const rule = (action: string, operation: object) =>
    document("AuthorizationPolicy", { action, rules: [{ to: [{ operation }] }] })

  test.each([
    ["a host, if every host is allowed", rule("ALLOW", { hosts: ["*"] }), "GET / HTTP/1.0\r\n\r\n", 403],
    ["a host, if all but one are denied", rule("DENY", { notHosts: ["a"] }), "GET / HTTP/1.0\r\n\r\n", 403],
    ["a host, if no rule reads it", rule("ALLOW", { methods: ["GET"] }), "GET / HTTP/1.0\r\n\r\n", 200],
    ["a path, if all are denied", rule("DENY", { paths: ["/*"] }), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 403],
    ["a path, if one is denied", rule("DENY", { paths: ["/a"] }), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200],
  ])("matches nothing: %s", async (_, policy, text, status) => {
    await start({ documents: [policy] })
    const client = await rig.client()
    expect(await client.send(text).response()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it("does not hide an unknown method", async () => {
    await start({
      raw: socket => socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
    })
    const client = await rig.client()
    const request = "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n"
    expect(await client.send(request).response()).toMatch(/^HTTP\/1.1 200 /)
    rig.enforce(rule("DENY", { notMethods: ["GET"] }))
    expect(await client.send(`\r\n${request}`).response()).toMatch(/^HTTP\/1.1 403 /)
  })
})

describe("a token", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] })
  const jwt = document("RequestAuthentication", {
    jwtRules: [
      { issuer: "me", jwks, fromCookies: ["session"], outputClaimToHeaders: [{ header: "x-user", claim: "sub" }] },
    ],
  })
  const mint = () =>
    new SignJWT({ iss: "me", sub: "zo\u00eb" }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey)

  it("that is invalid is challenged", async () => {
    await start({ documents: [jwt] })
    const client = await rig.client()
    const rejected = await client.send("GET /x?y HTTP/1.1\r\nHost: h\r\nCookie: session=abc\r\n\r\n").response()
    expect(rejected).toMatch(/^HTTP\/1.1 401 Unauthorized\r\n/)
    expect(rejected).toContain('www-authenticate: Bearer realm="http://h/x?y", error="invalid_token"\r\n')
    expect(rejected).toMatch(/with two dots and 3 sections$/)
  })

  it("that is valid is removed, and its claims arrive in place of forged ones", async () => {
    await start({ documents: [jwt] })
    const { header } = await forwarded(
      `GET / HTTP/1.1\r\nHost: h\r\nX-User: admin\r\nx_user: admin\r\nCookie: a=b; session=${await mint()}; c=d\r\nX-Other: 1\r\n\r\n`,
    )
    expect(header("cookie")).toEqual(["a=b; c=d"])
    expect(Buffer.from(header("x-user")[0] ?? "", "latin1").toString()).toBe("zo\u00eb")
    expect(header("x-user").length).toBe(1)
    expect(header("x_user")).toEqual([])
    expect(header("x-other")).toEqual(["1"])
  })

  it("that is absent does not allow forged claims", async () => {
    await start({ documents: [jwt] })
    const { header } = await forwarded("GET / HTTP/1.1\r\nHost: h\r\nX-USER: admin\r\n\r\n")
    expect(header("x-user")).toEqual([])
  })
})

describe("the application receives", () => {
  const certificate = {
    uri: "spiffe://cluster.local/ns/bar/sa/web",
    fingerprint: "ab12",
    subject: "CN=web",
    serial: "0A",
    dns: [],
    by: "spiffe://cluster.local/ns/foo/sa/app",
  }
  const FORGED = "X-Forwarded-Client-Cert: URI=spiffe://x\r\nx_forwarded_client_cert: y\r\nX-Forwarded-Proto: ftp\r\n"

  it("the caller's proven identity, and nothing forged", async () => {
    await start({ certificate })
    const { header } = await forwarded(`GET / HTTP/1.1\r\nHost: h\r\n${FORGED}\r\n`)
    expect(header("x-forwarded-client-cert")).toEqual([
      'By=spiffe://cluster.local/ns/foo/sa/app;Hash=ab12;Subject="CN=web";URI=spiffe://cluster.local/ns/bar/sa/web',
    ])
    expect(header("x_forwarded_client_cert")).toEqual([])
    expect(header("x-forwarded-proto")).toEqual(["https"])
  })

  it("no identity if none was proven", async () => {
    await start()
    const { header } = await forwarded(`GET / HTTP/1.1\r\nHost: h\r\n${FORGED}X-Forwarded-For: 1.2.3.4\r\n\r\n`)
    expect(header("x-forwarded-client-cert")).toEqual([])
    expect(header("x-forwarded-proto")).toEqual(["http"])
    expect(header("x-forwarded-for")).toEqual(["1.2.3.4, 127.0.0.1"])
  })

  it("a request id, the caller's own if it is valid", async () => {
    await start()
    const { header } = await forwarded(
      "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine-1\r\ntraceparent: 00-a-b-01\r\n\r\n",
    )
    expect(header("x-request-id")).toEqual(["mine-1"])
    expect(header("traceparent")).toEqual(["00-a-b-01"])
    const other = await forwarded("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: a b\r\n\r\n")
    expect(other.header("x-request-id")[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(rig.meters.records.map(({ requestId }) => requestId)).toEqual(["mine-1", other.header("x-request-id")[0]])
  })

  it("no hop-by-hop headers", async () => {
    await start()
    const { header } = await forwarded(
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, X-Hop, host\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nTE: gzip, trailers\r\nX-End: 1\r\n\r\n",
    )
    for (const name of ["x-hop", "keep-alive", "proxy-authorization"]) expect(header(name)).toEqual([])
    expect(header("te")).toEqual(["trailers"])
    expect(header("x-end")).toEqual(["1"])
    expect(header("host")).toEqual(["h"])
  })

  it("the normalised target", async () => {
    await start()
    expect((await forwarded("GET /a/%2e%2e/b?c=%2e HTTP/1.1\r\nHost: h\r\n\r\n")).url).toBe("/b?c=%2e")
  })
})

describe("draining", () => {
  it("closes idle connections at once and busy ones after their response", async () => {
    let finish: () => void = () => undefined
    await start({
      application: (incoming, reply) => {
        if (incoming.url === "/slow") finish = () => reply.end("slow")
        else reply.end("fast")
      },
    })
    const idle = await rig.client()
    await idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n").response()
    const busy = await rig.client()
    busy.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    await eventually(
      () => rig.upstream.connections === 2 || (rig.upstream.connections === 1 && rig.upstream.idleConnections === 0),
    )
    rig.connections.drainPlaintext(8080)
    expect(await idle.all()).toBe("")
    await eventually(() => rig.upstream.idleConnections === 0)
    finish()
    expect(await busy.all()).toMatch(/connection: close\r\n[\s\S]*slow/)
    idle.socket.end()
    busy.socket.end()
    await eventually(() => rig.connections.size === 0)
  })
})
