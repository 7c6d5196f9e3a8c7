// SPDX-License-Identifier: Apache-2.0
// The small set of reference vectors, over real sockets and with a fixed clock: issuer, inline key, no audiences, no
// authorization policy.

import { generateKeyPairSync } from "node:crypto"
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, it, test } from "vitest"
import type { Configuration } from "../config/configuration.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

const NOW = 1_800_000_000
const ISSUER = "https://issuer.example"
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] })

let application: Server
let path: LocalDataPath
let seen: { url: string; headers: IncomingHttpHeaders }[] = []
let url = ""

const rules = (rule: object): PolicyDocument => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "jwt", namespace: "foo" },
  spec: { jwtRules: [{ issuer: ISSUER, jwks, ...rule }] },
})

function configuration(revision: number, policies: readonly PolicyDocument[]): Configuration {
  const { port } = application.address() as AddressInfo
  return {
    revision,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "default", labels: {} },
    ports: [
      {
        port: 8080,
        listen: { host: "127.0.0.1", port: 0 },
        upstream: { host: "127.0.0.1", port },
        protocol: "http",
        upstreamProtocol: "http/1.1",
        serviceNames: [],
      },
    ],
    policies,
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  }
}

beforeAll(async () => {
  application = createServer((request, response) => {
    seen.push({ url: request.url ?? "", headers: request.headers })
    response.end("ok")
  })
  await new Promise<void>(resolve => application.listen(0, "127.0.0.1", () => resolve()))
  path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" }, () => NOW)
  await path.apply(configuration(1, [rules({})]))
  url = `http://127.0.0.1:${path.addresses()[0]?.port}`
})
afterAll(async () => {
  await path.drain()
  application.close()
})

const mint = (claims: object): Promise<string> =>
  new SignJWT({ iss: ISSUER, sub: "alice", ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey)

async function ask(
  target: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<{ status: number; body: string }> {
  seen = []
  const response = await fetch(`${url}${target}`, { headers, method })
  return { status: response.status, body: await response.text() }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
const none = `${part({ alg: "none" })}.${part({ iss: ISSUER })}`
const SECTIONS = "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections"

it("a request without a token passes", async () => {
  expect(await ask("/get")).toEqual({ status: 200, body: "ok" })
})

it("a valid token passes, and the application does not receive it", async () => {
  expect((await ask("/get", bearer(await mint({})))).status).toBe(200)
  expect(seen[0]?.headers.authorization).toBeUndefined()
})

it("the scheme's case does not matter", async () => {
  expect((await ask("/get", { authorization: `bearer ${await mint({})}` })).status).toBe(200)
  expect(seen[0]?.headers.authorization).toBeUndefined()
})

it("a token in the query passes and is removed from it", async () => {
  expect((await ask(`/get?access_token=${await mint({})}&a=1`)).status).toBe(200)
  expect(seen[0]?.url).toBe("/get?a=1")
})

test.each<[string, object, number, string]>([
  ["expired within the skew", { exp: NOW - 30 }, 200, "ok"],
  ["expired", { exp: NOW - 61 }, 401, "Jwt is expired"],
  ["almost valid", { nbf: NOW + 59 }, 200, "ok"],
  ["not yet valid", { nbf: NOW + 61 }, 401, "Jwt not yet valid"],
  ["of another issuer", { iss: "https://other.example" }, 401, "Jwt issuer is not configured"],
])("a token that is %s", async (_, claims, status, body) => {
  expect(await ask("/get", bearer(await mint(claims)))).toEqual({ status, body })
})

test.each<[string, string, string]>([
  ["no token at all", "abc", SECTIONS],
  ["alg none without signature", `${none}.`, SECTIONS],
  ["alg none with a signature", `${none}.AAAA`, "Jwt header [alg] is not supported"],
])("%s is rejected", async (_, token, body) => {
  expect(await ask("/get", bearer(token))).toEqual({ status: 401, body })
})

it("a preflight reaches the application with any token", async () => {
  const headers = {
    origin: "https://a.example",
    "access-control-request-method": "PUT",
    ...bearer(await mint({ exp: 1 })),
  }
  expect((await ask("/get", headers, "OPTIONS")).status).toBe(200)
})

it("audiences are compared without scheme and trailing slash, and a mismatch is 403", async () => {
  await path.apply(configuration(2, [rules({ audiences: ["https://a.com/"] })]))
  expect((await ask("/get", bearer(await mint({ aud: "a.com" })))).status).toBe(200)
  expect(await ask("/get", bearer(await mint({ aud: "b" })))).toEqual({
    status: 403,
    body: "Audiences in Jwt are not allowed",
  })
})

it("without keys every token is rejected and requests without one pass", async () => {
  const { jwks: _, ...keyless } = { issuer: ISSUER, jwks, jwksUri: "https://issuer.example/keys" }
  const policy: PolicyDocument = { ...rules({}), kind: "RequestAuthentication", spec: { jwtRules: [keyless] } }
  await path.apply(configuration(3, [policy]))
  expect((await ask("/get", bearer(await mint({})))).status).toBe(401)
  expect((await ask("/get")).status).toBe(200)
})
