// SPDX-License-Identifier: Apache-2.0
// Tokens in Istio's policies are found, verified and removed like in a real Envoy that is configured as Istio
// configures a sidecar: generated token rules, requests with up to three tokens, and what the application receives of
// them.
// @module-tag needs/envoy

import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import {
  type AuthorizationPolicy,
  compile,
  judge,
  meshConfig,
  meshNames,
  type PolicyDocument,
  parseIp,
  type RequestAuthentication,
  validate,
} from "@merlon/policy"
import type { JwtRule } from "@merlon/policy/resources"
import fc from "fast-check"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { address, Envoy, type } from "./control/support/envoy.js"
import { jwtAuthn, rbacFilter } from "./control/support/istio-filters.js"

const names = meshNames({ mesh: "istio", domain: "istio.io" })
const mesh = meshConfig({ names, dialect: "istio", numTrustedProxies: 1 })
const workload = { namespace: "foo", name: "web-1", labels: {}, services: [] }
const now = Math.floor(Date.now() / 1000)
const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.istio.io/v1"
const pick = <T>(...values: T[]) => fc.constantFrom(...values)

const KEYS = ["k", "l"].map(kid => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return {
    kid,
    privateKey,
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid, alg: "ES256" }] }),
  }
})
const jwtRule: fc.Arbitrary<JwtRule> = fc.record(
  {
    issuer: pick("a", "b"),
    jwks: pick(...KEYS.map(({ jwks }) => jwks)),
    audiences: pick(["api"], ["https://api/"], ["other", "api"]),
    fromHeaders: pick<NonNullable<JwtRule["fromHeaders"]>>(
      [{ name: "X-Token" }],
      [{ name: "x-token", prefix: "T " }, { name: "x-two" }],
      [{ name: "Authorization", prefix: "Bearer " }, { name: "x-token" }],
      [{ name: "Authorization", prefix: "bearer " }],
    ),
    fromParams: pick(["t"], ["u", "t"]),
    fromCookies: pick(["t"], ["u", "t"]),
    outputPayloadToHeader: pick("x-payload", "x-out"),
    outputClaimToHeaders: pick<NonNullable<JwtRule["outputClaimToHeaders"]>>(
      [{ header: "X-Out", claim: "g" }],
      [
        { header: "x-out", claim: "sub" },
        { header: "x-token", claim: "g" },
      ],
      [
        { header: "x-out", claim: "h.i" },
        { header: "x-out", claim: "sub" },
      ],
    ),
    forwardOriginalToken: fc.boolean(),
    spaceDelimitedClaims: pick(["g"]),
  },
  { requiredKeys: ["issuer", "jwks"] },
)

const rule = pick<NonNullable<AuthorizationPolicy["spec"]["rules"]>[number]>(
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { from: [{ source: { requestPrincipals: ["a/*"] } }] },
  { from: [{ source: { notRequestPrincipals: ["*/s"] } }] },
  { when: [{ key: "request.auth.claims[g]", values: ["v"] }] },
  { when: [{ key: "request.headers[x-out]", values: ["v"] }] },
  { when: [{ key: "request.headers[x_out]", values: ["v"] }] },
  { when: [{ key: "request.headers[x-out]", notValues: ["*"] }] },
  { when: [{ key: "request.headers[authorization]", values: ["*"] }] },
  { when: [{ key: "request.headers[x-token]", values: ["v", "T *"] }] },
  { when: [{ key: "request.headers[x-forwarded-proto]", values: ["https"] }] },
)

interface Set {
  readonly tokens: RequestAuthentication
  readonly policy: AuthorizationPolicy
}

const set: fc.Arbitrary<Set> = fc
  .record({
    jwtRules: fc.array(jwtRule, { minLength: 1, maxLength: 3 }),
    action: pick("ALLOW" as const, "DENY" as const),
    rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
  })
  .map(({ jwtRules, ...spec }) => ({
    tokens: {
      ...{ apiVersion, kind: "RequestAuthentication" as const, metadata: metadata("jwt") },
      spec: { jwtRules },
    },
    policy: { ...{ apiVersion, kind: "AuthorizationPolicy" as const, metadata: metadata("p") }, spec },
  }))

const token = fc.record({
  place: pick<readonly [name: string, before: string]>(
    ["authorization", "Bearer "],
    ["authorization", "bearer "],
    ["authorization", "x Bearer  "],
    ["authorization", "Bearer\t"],
    ["x-token", ""],
    ["x-token", "T "],
    ["x-two", ""],
    ["cookie", "a=b; t="],
    ["cookie", "u="],
    ["?", "t="],
    ["?", "%75="],
    ["?", "access_token="],
  ),
  claims: fc.record(
    {
      iss: pick("a", "b", "c"),
      sub: pick("s", "v", "u/v"),
      aud: pick<string | string[]>("api", ["http://api", "x"], "no"),
      g: pick<string | string[] | boolean>("v", "v w", ["v"], true),
      h: fc.constant({ i: "v" }),
      iat: fc.constant(now + 7200),
      exp: pick(now + 3600, now - 900),
    },
    { requiredKeys: ["iss", "sub"] },
  ),
  key: fc.nat(KEYS.length - 1),
  crit: fc.boolean(),
  shape: pick<(text: string) => string>(
    ...Array.from({ length: 8 }, () => (text: string) => text),
    text => `.${text.replace(".", "..")}`,
    text => `${text},x`,
    () => "",
    () => "x.y",
  ),
})
const request = fc.record(
  {
    method: pick("GET", "OPTIONS"),
    preflight: fc.boolean(),
    headers: fc.array(
      fc.tuple(
        pick("x-out", "x_out", "x-payload", "authorization", "x-forwarded-proto", "x-token"),
        pick("v", "w", "https"),
      ),
      { maxLength: 3 },
    ),
    tokens: fc.array(token, { maxLength: 3 }),
  },
  { requiredKeys: ["tokens"] },
)

type Described = typeof request extends fc.Arbitrary<infer T> ? T : never

interface Sent {
  readonly method: string
  readonly target: string
  readonly lines: readonly (readonly [name: string, value: string])[]
}

async function sentOf({ method = "GET", preflight, headers = [], tokens }: Described): Promise<Sent> {
  const lines = [...headers]
  let target = "/?q=1"
  if (preflight) lines.push(["origin", "https://x"], ["access-control-request-method", "GET"])
  for (const {
    place: [name, before],
    claims,
    key,
    crit,
    shape,
  } of tokens) {
    const header = { alg: "ES256", kid: KEYS[key]?.kid ?? "", ...(crit && { crit: ["x"], x: 1 }) }
    const jwt = new SignJWT({ exp: now + 3600, ...claims }).setProtectedHeader(header)
    const text = shape(await jwt.sign(KEYS[key]?.privateKey ?? Buffer.alloc(0), { crit: { x: false } }))
    if (name === "?") target += `&${before}${encodeURIComponent(text)}`
    else lines.push([name, `${before}${text}`])
  }
  return { method, target, lines }
}

const SEEN = ["x-out", "x_out", "x-payload", "authorization", "x-token", "x-two", "cookie", "x-forwarded-proto"]

/** What the application receives, or the status of the rejection. */
interface Result {
  readonly status: number
  readonly query: string | undefined
  readonly headers: { readonly [name: string]: string | undefined } | undefined
}

/** Sorted by name, as Envoy writes them after it removed one. */
const parametersOf = (url: string): string =>
  Array.from(new URL(url, "http://web").searchParams, String).sort().join("&")

function expected({ tokens, policy }: Set, { method, target, lines }: Sent): Result {
  const documents: readonly PolicyDocument[] = [tokens, policy]
  const headers = new Map<string, string[]>()
  for (const [name, value] of lines) headers.set(name, [...(headers.get(name) ?? []), value.trim()])
  const ip = parseIp("127.0.0.1")
  if (ip === undefined) throw new Error("no address")
  const connection = { peer: undefined, sourceIp: ip, destinationIp: ip, destinationPort: 8080, sni: undefined }
  const asked = { method, scheme: "http", host: "web", target, headers }
  const judged = judge(compile(documents, workload, mesh), connection, asked, now)
  if (judged.verdict === "deny") return { status: judged.reply?.status ?? 0, query: undefined, headers: undefined }
  const { http } = judged.attributes
  const seen = SEEN.map(name => [name, http?.headers.get(name)?.filter(Boolean).join("|")] as const).filter(
    ([, value]) => value,
  )
  return { status: 200, query: parametersOf(judged.target), headers: Object.fromEntries(seen) }
}

async function answered(index: number, { method, target, lines }: Sent): Promise<Result> {
  const socket = connect({ host: addressOf(index), port: envoy.port })
  const own = ["host: web", "connection: close"]
  const more = lines.map(([name, value]) => `${name}: ${value}`)
  socket.write([`${method} ${target} HTTP/1.1`, ...own, ...more, "", ""].join("\r\n"))
  let reply = ""
  for await (const chunk of socket.setEncoding("latin1")) {
    reply += chunk
    const [head = "", body] = reply.split("\r\n\r\n")
    if (body?.length === Number(/^content-length: (\d+)/im.exec(head)?.[1])) break
  }
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1])
  if (status !== 200) return { status, query: undefined, headers: undefined }
  const echoed = JSON.parse(reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1))
  return { status, query: parametersOf(echoed.url), headers: echoed.headers }
}

/** One listener for each set, at the loopback address with its number. */
function sidecars(port: number, application: number): object {
  return {
    clusters: [
      {
        ...{ name: "application", type: "STATIC" },
        load_assignment: {
          cluster_name: "application",
          endpoints: [{ lb_endpoints: [{ endpoint: { address: address(application) } }] }],
        },
      },
    ],
    listeners: sets.map((one, index) => ({
      name: `inbound-${index}`,
      address: { socket_address: { address: addressOf(index), port_value: port } },
      filter_chains: [
        { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: managerOf(one) }] },
      ],
    })),
  }
}

const addressOf = (index: number): string => `127.0.1.${index + 1}`

const managerOf = ({ tokens, policy }: Set) => ({
  ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
  stat_prefix: "inbound",
  normalize_path: true,
  use_remote_address: false,
  route_config: {
    virtual_hosts: [
      { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "application" } }] },
    ],
  },
  http_filters: [
    { name: "envoy.filters.http.jwt_authn", typed_config: jwtAuthn(tokens.spec.jwtRules ?? []) },
    { name: "envoy.filters.http.rbac", typed_config: rbacFilter(policy) },
    { name: "envoy.filters.http.router", typed_config: type("envoy.extensions.filters.http.router.v3.Router") },
  ],
})

const application = createServer(({ rawHeaders, url }, reply) => {
  const headers: { [name: string]: string } = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at]?.toLowerCase(), rawHeaders[at + 1]]
    if (SEEN.includes(name) && value !== "") headers[name] = name in headers ? `${headers[name]}|${value}` : value
  }
  const body = JSON.stringify({ url, headers })
  reply.setHeader("content-length", body.length)
  reply.end(body)
})
const seed = Date.now() % 2 ** 31
const sets = fc
  .sample(set, { numRuns: 150, seed })
  .filter(({ tokens, policy }) => [tokens, policy].every(one => validate(one, names).document !== undefined))
let envoy: Envoy

beforeAll(async () => {
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  const { port } = application.address() as AddressInfo // a TCP server
  envoy = await Envoy.configured(own => sidecars(own, port))
  await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${envoy.admin}/ready`).catch(() => undefined)
      return answer?.status === 200
    },
    { what: `Envoy is ready: ${envoy.log}` },
  )
})
afterAll(async () => {
  await envoy?.close()
  application.close()
})

it("predicts for every request what Envoy does with its tokens", async () => {
  const seen = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(fc.nat(sets.length - 1), request, async (index, described) => {
      const [one, sent] = [sets[index], await sentOf(described)]
      if (one === undefined) return
      const about = { seed, jwtRules: one.tokens.spec.jwtRules, rules: one.policy.spec, sent }
      const result = expected(one, sent)
      expect({ ...(await answered(index, sent)), about }).toEqual({ ...result, about })
      seen.set(result.status, (seen.get(result.status) ?? 0) + 1)
    }),
    { numRuns: 600 * inject("effort") },
  )
  expect([...seen.keys()].sort((a, b) => a - b)).toEqual([200, 401, 403])
})
