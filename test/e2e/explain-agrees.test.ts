// SPDX-License-Identifier: Apache-2.0
// `explain` predicts for a hypothetical request what a running xserver does with it: generated policies, token rules
// and modes, and requests with identities and tokens over real sockets. There is one data path, whose configuration is
// replaced for each set of policies.

import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import {
  type DescribedRequest,
  type DescribedToken,
  meshConfig,
  type PeerAuthentication,
  type PolicyDocument,
  type RequestAuthentication,
  Trial,
  validate,
} from "@merlon/policy"
import fc from "fast-check"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { policies } from "../../packages/policy/src/authorization/testing/arbitraries.js"
import { Authority, type Issued } from "../../packages/xserver/src/accept/testing/certificates.js"
import type { Configuration } from "../../packages/xserver/src/config/configuration.js"
import { DEFAULT_LIMITS } from "../../packages/xserver/src/limits.js"
import { LocalDataPath } from "../../packages/xserver/src/process/local-data-path.js"

const HTTP = 8080
const TCP = 80
const mesh = meshConfig({ numTrustedProxies: 1, trustDomainAliases: ["old.td"] })
const workload = { namespace: "foo", name: "web-1", labels: { app: "web" }, services: [] }
const now = Math.floor(Date.now() / 1000)

const authority = new Authority()
const IDENTITIES = ["cluster.local/ns/foo/sa/a", "old.td/ns/bar/sa/b", "cluster.local/ns/prod-7-eu/sa/c"] as const
const certificates = new Map<string, Issued>(
  IDENTITIES.map(identity => [identity, authority.issue({ uris: [`spiffe://${identity}`] })]),
)

const pair = () => generateKeyPairSync("ec", { namedCurve: "P-256" })
const [known, forger] = [pair(), pair()]
const jwks = JSON.stringify({ keys: [{ ...known.publicKey.export({ format: "jwk" }), kid: "k" }] })

const application = createServer((_, reply) => reply.end("ok"))
const greeter = createTcpServer(socket => {
  socket.on("error", () => {}).once("data", () => socket.end("hi"))
})
const path = new LocalDataPath({ mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" }, () => now)
let revision = 0

beforeAll(async () => {
  for (const server of [application, greeter]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
})
afterAll(async () => {
  await path.drain()
  application.close()
  greeter.close()
})

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port // both are TCP servers

function enforced(documents: readonly PolicyDocument[]): Promise<unknown> {
  const listening = (port: number, protocol: "http" | "tcp", upstream: number) => ({
    ...{
      port,
      protocol,
      listen: { host: "0.0.0.0", port: addressOf(port) },
      upstream: { host: "127.0.0.1", port: upstream },
    },
    ...{ upstreamProtocol: "http/1.1" as const, serviceNames: [] },
  })
  const configuration: Configuration = {
    ...{ revision: ++revision, mesh, policies: documents, keySets: {}, probes: {} },
    workload: { ...workload, serviceAccount: "default" },
    ports: [listening(HTTP, "http", portOf(application)), listening(TCP, "tcp", portOf(greeter))],
    tls: authority.material({ uris: ["spiffe://cluster.local/ns/foo/sa/web"] }),
    revocations: { identities: [], serials: [] },
  }
  return path.apply(configuration)
}

/** The listen address, the same through all changes. */
const addressOf = (port: number): number => path.addresses()[port === HTTP ? 0 : 1]?.port ?? 0

const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.merlon.dev/v1alpha3"

const modes: fc.Arbitrary<readonly PeerAuthentication[]> = fc
  .option(fc.constantFrom("STRICT", "PERMISSIVE", "DISABLE", "UNSET"), { nil: undefined })
  .map(mode =>
    mode === undefined
      ? []
      : [{ apiVersion, kind: "PeerAuthentication", metadata: metadata("mode"), spec: { mtls: { mode } } }],
  )

const tokenRule = fc.record(
  {
    issuer: fc.constantFrom("iss", "https://a.com", "iss/a"),
    audiences: fc.constantFrom(["v1"], ["v2", "x"]),
    fromHeaders: fc.constantFrom([{ name: "x-token", prefix: "T " }], [{ name: "authorization", prefix: "Bearer " }]),
    fromParams: fc.constant(["token"]),
    fromCookies: fc.constant(["session"]),
    forwardOriginalToken: fc.boolean(),
  },
  { requiredKeys: ["issuer"] },
)
const tokenRules: fc.Arbitrary<readonly RequestAuthentication[]> = fc.array(tokenRule, { maxLength: 2 }).map(rules =>
  rules.length === 0
    ? []
    : [
        {
          ...{ apiVersion, kind: "RequestAuthentication" as const, metadata: metadata("jwt") },
          spec: { jwtRules: rules.map(rule => ({ ...rule, jwks })) },
        },
      ],
)

const place: fc.Arbitrary<Omit<DescribedToken, "claims">> = fc.constantFrom(
  {},
  {},
  { header: "x-token", prefix: "T " },
  { param: "token" },
  { cookie: "session" },
)
const token: fc.Arbitrary<DescribedToken> = fc
  .tuple(
    fc.record(
      {
        iss: fc.constantFrom("iss", "https://a.com", "iss/a", "elsewhere"),
        sub: fc.constantFrom("sub", "s", "a/b"),
        aud: fc.oneof(fc.constantFrom("v1", "x"), fc.constant(["v2", "v1"])),
        groups: fc.oneof(fc.constantFrom("v1", "admin"), fc.constant(["v2", "x"])),
        num: fc.constantFrom(1, 7, true),
      },
      { requiredKeys: ["iss", "sub"] },
    ),
    fc.record({ expired: fc.constant(true), forged: fc.constant(true) }, { requiredKeys: [] }),
    place,
  )
  .map(([claims, flaws, where]) => ({ claims, ...flaws, ...where }))

/** No address is used on both sides, so that they cannot be confused. */
const SOURCES = ["127.0.0.1", "127.0.0.4"] as const
const DESTINATIONS = ["127.0.0.2", "127.0.0.3"] as const

const request: fc.Arbitrary<DescribedRequest> = fc.record(
  {
    from: fc.constantFrom(...IDENTITIES),
    ip: fc.constantFrom(...SOURCES),
    destinationIp: fc.constantFrom(...DESTINATIONS),
    sni: fc.constantFrom("v1", "w.a.com"),
    method: fc.constantFrom("GET", "POST", "DELETE"),
    host: fc.constantFrom("a.com", "w.a.com", "A.com:8080"),
    path: fc.constantFrom(
      "/",
      "/a",
      "/a/b",
      "/a/b/c",
      "/ab",
      "/a/",
      "/x/c?q=1",
      "/a//c",
      "/f.txt",
      "/a/../b",
      "/a/%7C/c",
      "/%2e",
    ),
    headers: fc.constantFrom({ "x-v": "v1" }, { "x-v": ["x", "v2"] }, { "x-forwarded-for": "8.8.8.8" }),
    token: fc.oneof(token, fc.constantFrom("none", "a.b.c")),
    protocol: fc.constantFrom("http" as const, "http" as const, "tcp" as const),
  },
  { requiredKeys: ["host", "ip", "destinationIp"] },
)

/** A plaintext connection has no SNI. */
const sent = request.map(({ sni, ...rest }): DescribedRequest => {
  const asked = rest.from === undefined || sni === undefined ? rest : { ...rest, sni }
  return { ...asked, port: asked.protocol === "tcp" ? TCP : HTTP }
})

async function signed({ claims, expired, forged }: DescribedToken): Promise<string> {
  const key: KeyObject = forged ? forger.privateKey : known.privateKey
  return new SignJWT({ ...claims, exp: expired ? now - 3600 : now + 3600 })
    .setProtectedHeader({ alg: "ES256", kid: forged ? "of nobody" : "k" })
    .sign(key)
}

/** The bytes of the request, with its token signed with the issuer's key. */
async function written(asked: DescribedRequest): Promise<string> {
  const { method = "GET", host, headers = {}, token: asToken } = asked
  let target = asked.path ?? "/"
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map(one => `${name}: ${one}`))
  if (asToken !== undefined) {
    const text = typeof asToken === "string" ? asToken : await signed(asToken)
    const where: Omit<DescribedToken, "claims"> = typeof asToken === "string" ? {} : asToken
    if (where.param !== undefined) target += `${target.includes("?") ? "&" : "?"}${where.param}=${text}`
    else if (where.cookie !== undefined) lines.push(`cookie: ${where.cookie}=${text}`)
    else lines.push(`${where.header ?? "authorization"}: ${where.prefix ?? "Bearer "}${text}`)
  }
  return [`${method} ${target} HTTP/1.1`, `host: ${host}`, ...lines, "connection: close", "", ""].join("\r\n")
}

/** Everything that is received until the end; empty if the connection is closed without a response. */
async function answered(asked: DescribedRequest): Promise<string> {
  const { ip, destinationIp: host, port = HTTP } = asked
  const at = { host, port: addressOf(port), localAddress: ip }
  const leaf = asked.from === undefined ? undefined : certificates.get(asked.from)
  const bytes = asked.protocol === "tcp" ? "hello" : await written(asked)
  const socket: Socket =
    leaf === undefined
      ? connect(at)
      : connectTls({
          ...{ ...at, cert: leaf.certificate, key: leaf.privateKey, rejectUnauthorized: false },
          // The mesh's ALPN, so that a TCP port recognises the mesh's TLS.
          ALPNProtocols: asked.protocol === "tcp" ? [mesh.names.mesh] : ["http/1.1"],
          ...(asked.sni === undefined ? {} : { servername: asked.sni }),
        })
  let text = ""
  socket.on("data", chunk => {
    text += chunk
  })
  // A rejected connection may be reset.
  socket.on("error", () => {})
  socket.once(leaf === undefined ? "connect" : "secureConnect", () => socket.write(bytes))
  await new Promise<void>(resolve => socket.once("close", () => resolve()))
  return text
}

async function done(asked: DescribedRequest): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const text = await answered(asked)
  if (asked.protocol === "tcp") return { status: undefined, body: text }
  const [head = "", body = ""] = text.split("\r\n\r\n", 2)
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  return { status: status === undefined ? undefined : Number(status), body }
}

function expected(
  trial: Trial,
  asked: DescribedRequest,
): { readonly status: number | undefined; readonly body: string } {
  const { verdict, status, body = "" } = trial.ask(asked)
  if (asked.protocol === "tcp") return { status: undefined, body: verdict === "allow" ? "hi" : "" }
  return verdict === "allow" ? { status: 200, body: "ok" } : { status, body }
}

/**
 * Policies on destinations: other generated rules rarely depend on them alone, and even more rarely name an existing
 * address.
 */
const addressed: fc.Arbitrary<readonly PolicyDocument[]> = fc
  .array(
    fc
      .record({
        action: fc.constantFrom("ALLOW" as const, "DENY" as const),
        condition: fc.oneof(
          fc.record({
            key: fc.constant("destination.ip"),
            values: fc.constantFrom(
              ["127.0.0.2"],
              ["127.0.0.3", "::1"],
              ["127.0.0.2/31"],
              ["127.0.0.0/31", "127.0.0.4"],
            ),
          }),
          fc.record({ key: fc.constant("destination.port"), values: fc.constantFrom([String(HTTP)], [String(TCP)]) }),
        ),
        negated: fc.boolean(),
      })
      .map(({ action, condition: { key, values }, negated }) => ({
        action,
        rules: [{ when: [negated ? { key, notValues: values } : { key, values }] }],
      })),
    { maxLength: 2 },
  )
  .map(specs =>
    specs.map((spec, index) => ({
      ...{ apiVersion, kind: "AuthorizationPolicy" as const, metadata: metadata(`addressed-${index}`) },
      spec,
    })),
  )

const sets = fc
  .tuple(fc.oneof(policies, addressed), tokenRules, modes)
  .map(([rules, tokens, peers]): readonly PolicyDocument[] => [...rules, ...tokens, ...peers])
  .filter(documents => documents.every(one => validate(one, mesh.names).document !== undefined))

const at = { host: "a.com", ip: SOURCES[0], destinationIp: DESTINATIONS[0], port: HTTP }
const authorization = (name: string, action: "ALLOW" | "DENY", path: string): PolicyDocument => ({
  ...{ apiVersion, kind: "AuthorizationPolicy", metadata: metadata(name) },
  spec: { action, rules: [{ to: [{ operation: { paths: [path] } }] }] },
})
const jwt: RequestAuthentication = {
  ...{ apiVersion, kind: "RequestAuthentication", metadata: metadata("jwt") },
  spec: { jwtRules: [{ issuer: "iss", jwks }] },
}
const strict: PeerAuthentication = {
  ...{ apiVersion, kind: "PeerAuthentication", metadata: metadata("mode") },
  spec: { mtls: { mode: "STRICT" } },
}
const onlyAt = (key: string, value: string): PolicyDocument => ({
  ...{ apiVersion, kind: "AuthorizationPolicy", metadata: metadata("at") },
  spec: { rules: [{ when: [{ key, values: [value] }] }] },
})
/** Examples that each stage, each address and each port decides. */
const EXAMPLES: [readonly PolicyDocument[], DescribedRequest[]][] = [
  [
    [authorization("in", "ALLOW", "/a*"), authorization("out", "DENY", "/ab"), jwt],
    [
      { ...at, path: "/a" },
      { ...at, path: "/ab" },
      { ...at, path: "/x" },
      { ...at, path: "/a", token: "none" },
    ],
  ],
  [[strict], [at, { ...at, from: IDENTITIES[0] }]],
  [[onlyAt("destination.ip", DESTINATIONS[0])], [at, { ...at, destinationIp: DESTINATIONS[1] }]],
  [[onlyAt("source.ip", SOURCES[0])], [at, { ...at, ip: SOURCES[1] }]],
  [[onlyAt("destination.port", String(HTTP))], [at, { ...at, protocol: "tcp", port: TCP }]],
]

it(
  "predicts for every request what xserver does with it",
  async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(sets, fc.array(sent, { minLength: 4, maxLength: 10 }), async (documents, requests) => {
        await enforced(documents)
        // Tokens are described by their claims, without keys; xserver got tokens that the issuer signed.
        const trial = new Trial(documents, workload, mesh, now)
        for (const asked of requests) {
          expect(await done(asked), JSON.stringify(asked)).toEqual(expected(trial, asked))
          seen.add(trial.ask(asked).stage)
        }
      }),
      { numRuns: 40 * inject("effort"), examples: EXAMPLES },
    )
    expect([...seen]).toEqual(expect.arrayContaining(["allow", "default", "deny", "token", "transport"]))
  },
  180_000 * inject("effort"),
)
