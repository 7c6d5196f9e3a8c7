// SPDX-License-Identifier: Apache-2.0
// Questions over real sockets, as gateways send them, and as an attacker would to get a wrong answer.

import { type OutgoingHttpHeaders, request } from "node:http"
import { connect } from "node:net"
import { fromBinary, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { Client, credentials, type ServiceError } from "@grpc/grpc-js"
import { compile } from "@merlon/policy/authorization"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { Deadlines } from "@merlon/wire/http"
import * as messages from "@merlon/xds/authz"
import fc from "fast-check"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterEach, describe, expect, it } from "vitest"
import {
  CheckRequestSchema,
  type CheckResponse,
  CheckResponseSchema,
} from "../../packages/xds/src/generated/envoy/service/auth/v3/external_auth_pb.js"
import { authorization, type Rig, startRig, WORKLOAD } from "../../packages/xserver/src/accept/testing/rig.js"
import type { GatewayTrust } from "../../packages/xserver/src/authorizer/gateway-trust.js"
import { questionHandlers } from "../../packages/xserver/src/authorizer/handlers.js"

const CHECK = "/envoy.service.auth.v3.Authorization/Check"
const LOOPBACK: GatewayTrust = { gateways: ["127.0.0.1"] }
const CART = "spiffe://cluster.local/ns/shop/sa/cart"
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const POLICIES = [
  authorization("allowed", {
    rules: [
      { to: [{ operation: { paths: ["/public/*"], hosts: ["shop.example"] } }] },
      {
        from: [{ source: { principals: ["cluster.local/ns/shop/sa/cart"] } }],
        to: [{ operation: { paths: ["/cart"] } }],
      },
      { from: [{ source: { ipBlocks: ["192.0.2.0/24"] } }], to: [{ operation: { paths: ["/office"] } }] },
    ],
  }),
]

async function start(trust: GatewayTrust = LOOPBACK, policies: readonly PolicyDocument[] = POLICIES): Promise<Rig> {
  const rig = await startRig({
    policies,
    handlers: ({ parts }) =>
      questionHandlers(trust, { ...parts, deadlines: new Deadlines(parts.limits) }, messages).handlers,
  })
  cleanups.push(() => rig.stop())
  return rig
}

const PUBLIC = { method: "GET", path: "/public/a", host: "shop.example", scheme: "https" }
/** The message in its JSON form. */
type Attributes = JsonObject

function clientOf(rig: Rig): Client {
  const client = new Client(`127.0.0.1:${rig.port}`, credentials.createInsecure())
  cleanups.push(() => client.close())
  return client
}

function send(client: Client, message: Uint8Array): Promise<CheckResponse | ServiceError> {
  return new Promise(resolve => {
    client.makeUnaryRequest(
      CHECK,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => fromBinary(CheckResponseSchema, bytes),
      message,
      (error, value) => resolve(error ?? (value as CheckResponse)), // one of them is set
    )
  })
}

const check = (client: Client, attributes: Attributes) =>
  send(client, toBinary(CheckRequestSchema, fromJson(CheckRequestSchema, { attributes })))

async function verdict(client: Client, attributes: Attributes): Promise<"allow" | number> {
  const answer = await check(client, attributes)
  if (answer instanceof Error) return 403
  const { httpResponse } = answer
  if (httpResponse.case === "okResponse") return "allow"
  return httpResponse.case === "deniedResponse" ? (httpResponse.value.status?.code ?? 0) : 0
}

const http = (more: JsonObject = {}): Attributes => ({ request: { http: { ...PUBLIC, ...more } } })
const from = (address: string, principal = "") => ({
  source: { principal, address: { socketAddress: { address } } },
})

describe("Envoy's question", () => {
  it("is answered by the policies", async () => {
    const client = clientOf(await start())
    expect(await verdict(client, http())).toBe("allow")
    const denied = await check(client, http({ path: "/private" }))
    expect(denied).toMatchObject({
      status: { code: 7 },
      httpResponse: {
        case: "deniedResponse",
        value: {
          status: { code: 403 },
          body: "RBAC: access denied",
          headers: [{ header: { key: "x-merlon-decision", value: expect.stringMatching(/^[0-9a-f]{20}$/) } }],
        },
      },
    })
  })

  it.each<[string, Attributes]>([
    ["no attributes", {}],
    ["no request", { source: { principal: CART } }],
    ["no method", http({ method: "" })],
    ["no path", http({ path: "" })],
    ["no host", http({ host: "" })],
    ["an invalid path", http({ path: "public/a" })],
    ["a URL as the path", http({ path: "http://shop.example/public/a" })],
    ["a space in the path", http({ path: "/public/a b" })],
    ["another authority in its headers", http({ headers: { ":authority": "other.example" } })],
    ["a second Host", http({ headers: { host: "other.example" } })],
    ["another path in its headers", http({ headers: { ":path": "/private" } })],
    ["another method in its headers", http({ headers: { ":method": "POST" } })],
    ["another scheme in its headers", http({ headers: { ":scheme": "http" } })],
    ["a path in another spelling", http({ path: "/public//a" })],
    ["an escaped path in another spelling", http({ path: "/private/%2e%2e/public/a" })],
  ])("with %s is denied", async (_, attributes) => {
    expect(await verdict(clientOf(await start()), attributes)).toBe(403)
  })

  it("names no caller without a trusted source", async () => {
    const asked = { ...http({ path: "/cart" }), ...from("192.0.2.1", CART) }
    expect(await verdict(clientOf(await start()), asked)).toBe(403)
    expect(await verdict(clientOf(await start({ ...LOOPBACK, peer: "attribute" })), asked)).toBe("allow")
    const forged = http({ path: "/cart", headers: { "x-forwarded-client-cert": `URI=${CART}` } })
    expect(await verdict(clientOf(await start({ ...LOOPBACK, peer: "attribute" })), forged)).toBe(403)
    const believed = { ...LOOPBACK, peer: { header: "x-forwarded-client-cert" } }
    expect(await verdict(clientOf(await start(believed)), forged)).toBe("allow")
  })

  it("has no address without a trusted source", async () => {
    const asked = { ...http({ path: "/office" }), ...from("192.0.2.1") }
    expect(await verdict(clientOf(await start()), asked)).toBe(403)
    const believing = clientOf(await start({ ...LOOPBACK, address: "attribute" }))
    expect(await verdict(believing, asked)).toBe("allow")
    expect(await verdict(believing, http())).toBe(403)
  })

  it("is denied if the gateway names another route for the request", async () => {
    const rig = await start()
    const client = clientOf(rig)
    const of = (contextExtensions: JsonObject) => verdict(client, { ...http(), contextExtensions })
    expect(await of({ "merlon.dev/http-route": "shop" })).toBe(403)
    expect(await of({ "example.com/http-route": "shop" })).toBe("allow")
    const labels = { "merlon.dev/http-route": "shop", "merlon.dev/gateway": "public" }
    rig.gate.swap(compile(POLICIES, { ...WORKLOAD, labels }, meshConfig()))
    expect(await of({ "merlon.dev/http-route": "shop" })).toBe("allow")
    expect(await of({ "merlon.dev/http-route": "shop", "merlon.dev/gateway": "other" })).toBe(403)
    expect(await of({ "merlon.dev/http-route": "admin" })).toBe(403)
    expect(await of({ "merlon.dev/grpc-route": "shop" })).toBe(403)
  })

  it("is denied if a comma may hide one of several lines of a header", async () => {
    const guests = authorization("guests", {
      action: "DENY",
      rules: [{ when: [{ key: "request.headers[x-role]", values: ["guest"] }] }],
    })
    const tokens: PolicyDocument = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "RequestAuthentication",
      metadata: { name: "issuer", namespace: "shop" },
      spec: { jwtRules: [{ issuer: "https://issuer.example", jwksUri: "https://issuer.example/keys" }] },
    }
    const rig = await start(LOOPBACK, [...POLICIES, guests, tokens])
    const client = clientOf(rig)
    const raw = (name: string, ...values: string[]) => ({
      headerMap: { headers: values.map(value => ({ key: name, rawValue: Buffer.from(value).toString("base64") })) },
    })
    for (const [headers, expected] of [
      [{ headers: { "x-role": "staff" } }, "allow"],
      [{ headers: { "x-role": "staff,guest" } }, 403],
      [{ headers: { "x-role": "staff, guest" } }, 403],
      [{ headers: { "x-role": "staff, of the shop" } }, "allow"],
      [{ headers: { "x-role": "a,".repeat(7) } }, 403],
      [{ headers: { "x-other": "staff,guest" } }, "allow"],
      [raw("x-role", "staff", "guest"), 403],
      [raw("x-role", "staff", "other"), "allow"],
      [{ headers: { authorization: 'Digest username="a", realm="b"' } }, "allow"],
      [{ headers: { authorization: "Basic YTpi,Bearer a.b.c" } }, 403],
      // Envoy joins the lines of some headers before it sends any.
      [raw("authorization", "Basic YTpi,Bearer a.b.c"), 403],
      [raw("x-role", "guest"), 403],
    ] as const)
      expect([headers, await verdict(client, http(headers))]).toEqual([headers, expected])
    const ask = (role: string, token: string) =>
      firstLine(
        rig,
        `GET /ext-authz/public/a HTTP/1.1\r\nhost: shop.example\r\nx-role: ${role}\r\nauthorization: ${token}\r\n\r\n`,
      )
    expect(await ask("staff", "Basic YTpi")).toContain(" 200 ")
    expect(await ask("staff,guest", "Basic YTpi")).toContain(" 403 ")
    expect(await ask("staff", "Basic YTpi,Bearer a.b.c")).toContain(" 403 ")
  })

  it("is denied to a caller that is not a gateway", async () => {
    const rig = await start({ gateways: ["192.0.2.0/24"] })
    expect(await check(clientOf(rig), http())).toMatchObject({ code: 7 })
    await rig.meters.until(({ records }) => records.length === 1)
    expect(rig.meters.records[0]?.judgement).toMatchObject({ stage: "protocol", error: "unknown-gateway" })
  })

  it("is denied or rejected for any bytes", async () => {
    const client = clientOf(await start())
    const whole = toBinary(CheckRequestSchema, fromJson(CheckRequestSchema, { attributes: http({ path: "/private" }) }))
    const mutated = fc
      .tuple(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length))
      .map(([at, value, length]) => whole.map((byte, index) => (index === at ? value : byte)).slice(0, length))
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), async bytes => {
        const answer = await send(client, bytes)
        expect(answer instanceof Error ? "rejected" : answer.httpResponse.case).not.toBe("okResponse")
      }),
      { numRuns: 50 },
    )
    expect(await check(client, http({ headers: { "x-long": "a".repeat(200_000) } }))).toMatchObject({ code: 7 })
    expect(await verdict(client, http())).toBe("allow")
  })
})

describe("an HTTP question", () => {
  const forwarded = (more: Record<string, string> = {}): Record<string, string> => ({
    "x-forwarded-method": "GET",
    "x-forwarded-uri": "/public/a",
    "x-forwarded-host": "shop.example",
    "x-forwarded-proto": "https",
    ...more,
  })
  const status = (rig: Rig, path: string, headers: OutgoingHttpHeaders) =>
    new Promise<number | undefined>((resolve, reject) => {
      const call = request({ host: "127.0.0.1", port: rig.port, path, headers })
      call.on("error", reject).on("response", response => resolve(response.resume().statusCode))
      call.end()
    })

  it("describes the request in the headers of the configured kind of gateway", async () => {
    const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
    expect(await status(rig, "/forward-auth", forwarded())).toBe(200)
    expect(await status(rig, "/forward-auth", forwarded({ "x-forwarded-uri": "/private" }))).toBe(403)
    const nginx = await start({ ...LOOPBACK, forwardAuth: "nginx" })
    expect(await status(nginx, "/forward-auth", forwarded())).toBe(403)
    expect(await status(await start(), "/forward-auth", forwarded())).toBe(403)
  })

  it.each(["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto"] as const)(
    "is denied without %s, and with two of them",
    async name => {
      const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
      const { [name]: value = "", ...others } = forwarded()
      expect(await status(rig, "/forward-auth", others)).toBe(403)
      expect(await status(rig, "/forward-auth", { ...others, [name]: [value, value] })).toBe(403)
      expect(await status(rig, "/forward-auth", { ...others, [name]: value })).toBe(200)
    },
  )

  it("is about the gateway's caller, whatever mTLS mode the port has", async () => {
    const cart = { "x-forwarded-uri": "/cart", "x-cert": `URI=${CART}` }
    const believing = await start({ ...LOOPBACK, forwardAuth: "caddy", peer: { header: "x-cert" } })
    believing.setMode("DISABLE")
    expect(await status(believing, "/forward-auth", forwarded(cart))).toBe(200)
  })

  it("is denied with a forged header, which such a gateway cannot remove", async () => {
    const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
    expect(await status(rig, "/forward-auth", forwarded({ "x-merlon-decision": "1" }))).toBe(403)
    expect(await status(rig, "/ext-authz/public/a", { host: "shop.example", "x-merlon-decision": "1" })).toBe(200)
  })

  it("is rejected with two Hosts, which is ambiguous", async () => {
    const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
    const described = Object.entries(forwarded()).map(([name, value]) => `${name}: ${value}`)
    for (const path of ["/ext-authz/public/a", "/forward-auth", "/access/v1/evaluation"]) {
      for (const second of ["shop.example", "other.example"]) {
        const lines = [`GET ${path} HTTP/1.1`, "host: shop.example", `host: ${second}`, ...described, "", ""]
        expect([path, second, await firstLine(rig, lines.join("\r\n"))]).toEqual([
          path,
          second,
          "HTTP/1.1 400 Bad Request",
        ])
      }
    }
    expect(await firstLine(rig, "GET /ext-authz/public/a HTTP/1.1\r\n\r\n")).toBe("HTTP/1.1 400 Bad Request")
  })

  it.each(["/public//a", "/private/%2e%2e/public/a", "/public/./a", "http://shop.example/public/a", ""])(
    "is denied with the path %j",
    async path => {
      const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
      const answers = [
        await firstLine(rig, `GET /ext-authz${path} HTTP/1.1\r\nhost: shop.example\r\n\r\n`),
        String(await status(rig, "/forward-auth", forwarded({ "x-forwarded-uri": path }))),
      ]
      for (const answer of answers) expect(answer).toMatch(/\b40[03]\b/)
    },
  )

  it("is denied with a forged certificate header, and with an unreadable one that is trusted", async () => {
    const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
    const cart = { "x-forwarded-uri": "/cart" }
    const forged = { "x-forwarded-client-cert": `URI=${CART}` }
    expect(await status(rig, "/forward-auth", forwarded({ ...cart, ...forged }))).toBe(403)
    expect(await status(rig, "/ext-authz/cart", { host: "shop.example", ...forged })).toBe(403)
    const peer = { header: "x-forwarded-client-cert" }
    const believing = await start({ ...LOOPBACK, forwardAuth: "traefik", peer })
    expect(await status(believing, "/forward-auth", forwarded({ ...cart, ...forged }))).toBe(200)
    for (const value of ['URI="', `URI=${CART};URI=${CART}-2`, "URI=cart", "URI=spiffe://a/b"]) {
      const unreadable = { "x-forwarded-client-cert": value }
      expect([value, await status(believing, "/forward-auth", forwarded({ ...cart, ...unreadable }))]).toEqual([
        value,
        403,
      ])
    }
  })

  it("is denied on an unknown path", async () => {
    const rig = await start({ ...LOOPBACK, forwardAuth: "traefik" })
    for (const path of ["/", "/ext-authz", "/ext-authzpublic/a", CHECK]) {
      expect([path, await status(rig, path, forwarded())]).toEqual([path, 403])
    }
  })
})

/** First line of the response to exactly these bytes. */
async function firstLine(rig: Rig, bytes: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: rig.port })
  socket.end(bytes)
  const received = (await socket.toArray()) as Buffer[] // no encoding is set
  return Buffer.concat(received).toString("latin1").split("\r\n")[0] ?? ""
}

it("decides an AuthZEN question like Envoy's about the same request, tokens included", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const issuer = "https://issuer.example"
  const signed = (subject: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(issuer)
      .setSubject(subject)
      .sign(privateKey)
  const [alice, bob] = await Promise.all([signed("alice"), signed("bob")])
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] })
  const tokens: PolicyDocument = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "RequestAuthentication",
    metadata: { name: "issuer", namespace: "shop" },
    spec: { jwtRules: [{ issuer, jwks, outputClaimToHeaders: [{ header: "x-user", claim: "sub" }] }] },
  }
  const users = authorization("users", {
    rules: [
      { from: [{ source: { requestPrincipals: [`${issuer}/alice`] } }], to: [{ operation: { paths: ["/private"] } }] },
    ],
  })
  const guests = authorization("guests", {
    action: "DENY",
    rules: [{ when: [{ key: "request.headers[x-role]", values: ["guest"] }] }],
  })
  const policies = [...POLICIES, tokens, users, guests]
  const envoy = clientOf(await start({ ...LOOPBACK, peer: "attribute", address: "attribute" }, policies))
  const rig = await start({ ...LOOPBACK, authzen: true, peer: "subject", address: "subject" }, policies)
  const request = fc.record({
    method: fc.constantFrom("GET", "POST", "a b", ""),
    path: fc.constantFrom("/public/a", "/public/a?b=c", "/private", "/cart", "/office", "/public//a", "public/a", "*"),
    host: fc.constantFrom("shop.example", "shop.example", "other.example", "a b", ""),
    address: fc.constantFrom("192.0.2.1", "198.51.100.1"),
    principal: fc.constantFrom("", CART, `${CART}-2`),
    headers: fc.record(
      {
        authorization: fc.constantFrom(`Bearer ${alice}`, `Bearer ${bob}`, `Bearer ${alice}x`),
        "x-role": fc.constantFrom("admin", "guest"),
        "x-user": fc.constantFrom("mallory"),
      },
      { requiredKeys: [] },
    ),
  })
  const PLAIN = {
    method: "GET",
    path: "/public/a",
    host: "shop.example",
    address: "192.0.2.1",
    principal: "",
    headers: {},
  }
  const seen = new Set<unknown>()
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, host, address, principal, headers }) => {
      const expected = await verdict(envoy, { ...http({ method, path, host, headers }), ...from(address, principal) })
      const asked = {
        subject: {
          type: principal === "" ? "anonymous" : "workload",
          id: principal,
          properties: { ip_address: address },
        },
        action: { name: method },
        resource: { type: "http", id: path, properties: { host } },
        context: { headers },
      }
      const response = await fetch(`http://127.0.0.1:${rig.port}/access/v1/evaluation`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
      })
      const got: unknown = response.status === 200 ? await response.json() : await response.text()
      if (expected === "allow") expect(got).toMatchObject({ decision: true })
      else if (response.status === 200) expect(got).toMatchObject({ decision: false, context: { status: expected } })
      else expect([response.status, expected]).toEqual([400, 403])
      seen.add(expected)
    }),
    { numRuns: 100, examples: [[PLAIN], [{ ...PLAIN, headers: { authorization: `Bearer ${alice}x` } }]] },
  )
  expect(seen).toEqual(new Set(["allow", 401, 403]))
})
