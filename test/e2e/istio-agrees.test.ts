// SPDX-License-Identifier: Apache-2.0
// `explain` predicts for Istio's policies what a real Envoy does that is configured as Istio configures a sidecar:
// generated policies, each as a pair of RBAC filters, and generated requests with identities and tokens over mTLS.
// @module-tag needs/envoy

import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createServer as createEcho } from "node:net"
import { connect, type TLSSocket } from "node:tls"
import {
  type AuthorizationPolicy,
  type DescribedRequest,
  meshConfig,
  meshNames,
  type PolicyDocument,
  type RequestAuthentication,
  Trial,
  validate,
} from "@merlon/policy"
import fc from "fast-check"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { Authority, type Issued } from "../../packages/xserver/src/accept/testing/certificates.js"
import { address, Envoy, type } from "./control/support/envoy.js"
import { overTcp, rbacOf, withoutHttp } from "./control/support/istio-filters.js"

const names = meshNames({ mesh: "istio", domain: "istio.io" })
const mesh = meshConfig({ names, dialect: "istio", numTrustedProxies: 1 })
const workload = { namespace: "foo", name: "web-1", labels: {}, services: [] }
const now = Math.floor(Date.now() / 1000)
const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.istio.io/v1"

const authority = new Authority()
const IDENTITIES = ["cluster.local/ns/foo/sa/a", "cluster.local/ns/ns/sa/b", "cluster.local/ns/prod-7-eu/sa/c"] as const
const certificates = new Map<string, Issued>(
  IDENTITIES.map(identity => [identity, authority.issue({ uris: [`spiffe://${identity}`] })]),
)
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" }] })
const ISSUERS = ["https://a.com", "iss"]
const tokens: RequestAuthentication = {
  ...{ apiVersion, kind: "RequestAuthentication", metadata: metadata("jwt") },
  spec: { jwtRules: ISSUERS.map(issuer => ({ issuer, jwks })) },
}

type Rule = NonNullable<AuthorizationPolicy["spec"]["rules"]>[number]
type Source = NonNullable<NonNullable<NonNullable<Rule["from"]>[number]>["source"]>
type Operation = NonNullable<NonNullable<NonNullable<Rule["to"]>[number]>["operation"]>

const some = (...values: string[]) => fc.subarray(values, { minLength: 1, maxLength: 2 })
/** Placeholder for the port on which the proxy will listen. */
const LISTENED = "1"

const PRINCIPALS = some("*", ...IDENTITIES, "cluster.local/ns/foo/*", "*/sa/b", "cluster.local/ns/prod-7-eu/*")
const NAMESPACES = some("foo", "sa", "*sa", "prod-*", "*-eu", "p*eu", "*")
const SUBJECTS = some("*", "iss/sub", "iss/*", "*/sub", "https://a.com/a/b", "https://a.com/*", "iss/s*", "iss", "*b")
const ACCOUNTS = some("a", "foo/a", "ns/b", "prod-7-eu/c", "prod-7-eu/a")
const DOMAINS = some("*", "cluster.local", "*.local", "cluster*", "other")
const BLOCKS = some("127.0.0.0/8", "10.0.0.0/8", "127.0.0.1", "8.8.8.8", "0.0.0.0/0")
const HOSTS = some("a.com", "a.com.", "*.com", "A.com:*", "*")
const METHODS = some("GET", "P*", "*", "OPTIONS", "get")
const PATHS = some("/a", "/a*", "*/c", "*", "/*", "/a/{*}", "/{**}", "/a/{**}", "/{*}/c", "/a/{*}/{**}")
const PORTS = some("8080", LISTENED)
const TEXTS = some("v1", "v*", "7", "true", "*", "*2", "v1,v2")
const NAMES = some("*", "w.com", "*.com", "w*", "*w*")

const optional = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(model, { requiredKeys: [] })
const isFilled = (one: object): boolean => Object.keys(one).length > 0
const source: fc.Arbitrary<Source> = fc
  .oneof(
    optional({ principals: PRINCIPALS, notPrincipals: PRINCIPALS, namespaces: NAMESPACES, notNamespaces: NAMESPACES }),
    optional({ requestPrincipals: SUBJECTS, notRequestPrincipals: SUBJECTS }),
    optional({ serviceAccounts: ACCOUNTS, notServiceAccounts: ACCOUNTS }),
    optional({ trustDomains: DOMAINS, notTrustDomains: DOMAINS }),
    optional({ ipBlocks: BLOCKS, notIpBlocks: BLOCKS, remoteIpBlocks: BLOCKS, notRemoteIpBlocks: BLOCKS }),
  )
  .filter(isFilled)
const operation: fc.Arbitrary<Operation> = fc
  .oneof(
    optional({ hosts: HOSTS, notHosts: HOSTS }),
    optional({ methods: METHODS, notMethods: METHODS }),
    optional({ paths: PATHS, notPaths: PATHS }),
    optional({ ports: PORTS, notPorts: PORTS }),
  )
  .filter(isFilled)
const condition = fc.oneof(
  ...(
    [
      ["request.auth.claims[groups]", TEXTS],
      ["request.auth.claims[n][deep]", TEXTS],
      ["request.auth.claims[num]", TEXTS],
      ["request.auth.audiences", TEXTS],
      ["request.auth.presenter", TEXTS],
      ["request.auth.principal", SUBJECTS],
      ["request.headers[x-v]", TEXTS],
      ["request.headers[X-V]", TEXTS],
      ["request.headers[:method]", METHODS],
      ["request.headers[host]", HOSTS],
      ["request.headers[:path]", PATHS],
      ["source.ip", BLOCKS],
      ["remote.ip", BLOCKS],
      ["source.namespace", NAMESPACES],
      ["source.principal", PRINCIPALS],
      ["source.serviceAccount", ACCOUNTS],
      ["source.trustDomain", DOMAINS],
      ["destination.ip", BLOCKS],
      ["destination.port", PORTS],
      ["connection.sni", NAMES],
    ] as const
  ).map(([key, values]) =>
    optional({ values, notValues: values })
      .filter(isFilled)
      .map(one => ({ key, ...one })),
  ),
)
const rule: fc.Arbitrary<Rule> = optional({
  from: fc.array(fc.record({ source }), { minLength: 1, maxLength: 2 }),
  to: fc.array(fc.record({ operation }), { minLength: 1, maxLength: 2 }),
  when: fc.array(condition, { minLength: 1, maxLength: 2 }),
})
const policy: fc.Arbitrary<AuthorizationPolicy> = fc
  .record({
    action: fc.constantFrom("ALLOW" as const, "DENY" as const),
    rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
  })
  .map(spec => ({ ...{ apiVersion, kind: "AuthorizationPolicy" as const, metadata: metadata("p") }, spec }))

const claims = fc.record(
  {
    iss: fc.constantFrom(...ISSUERS),
    sub: fc.constantFrom("sub", "s", "a/b", "b"),
    groups: fc.oneof(fc.constantFrom("v1", "x"), fc.constant(["v2", "x"]), fc.constant([7, true])),
    n: fc.constant({ deep: "v1" }),
    num: fc.constantFrom<string | number | boolean>(7, true, "7", ""),
    aud: fc.oneof(fc.constant("v1"), fc.constant(["x", "v2"])),
    azp: fc.constant("v1"),
  },
  { requiredKeys: ["iss", "sub"] },
)
const request: fc.Arbitrary<DescribedRequest> = fc.record(
  {
    from: fc.constantFrom(...IDENTITIES),
    method: fc.constantFrom("GET", "POST"),
    host: fc.constantFrom("a.com", "a.com.", "w.com", "A.com:80"),
    path: fc.constantFrom(
      "/a",
      "/a/b",
      "/a/b/c",
      "/a/[x",
      "/a/|/c",
      "/",
      "/x/c?q=1",
      "/a//c",
      "/a/../b",
      "/%61",
      '/"/c',
    ),
    headers: fc.constantFrom<NonNullable<DescribedRequest["headers"]>>(
      { "x-v": "v1" },
      { "x-v": "v2" },
      { "x-v": "" },
      { "x-v": ["v1", "v2"] },
      { "x-v": ["v1", ""] },
      { "x-forwarded-for": "8.8.8.8" },
      { "x-forwarded-for": ["8.8.8.8", "10.1.2.3"] },
    ),
    sni: fc.constantFrom("w.com", "W.com"),
    token: claims.map(one => ({ claims: one })),
  },
  { requiredKeys: ["host"] },
)

const LISTENER = "envoy.extensions.filters.listener"

const leaf = authority.issue({ uris: ["spiffe://cluster.local/ns/foo/sa/web"] })
const tls = {
  ...type("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
  common_tls_context: {
    tls_certificates: [
      { certificate_chain: { inline_string: leaf.certificate }, private_key: { inline_string: leaf.privateKey } },
    ],
    validation_context: { trusted_ca: { inline_string: authority.certificate } },
  },
}

const clusterOf = (name: string, port: number) => ({
  ...{ name, type: "STATIC" },
  load_assignment: {
    cluster_name: name,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }],
  },
})

const listenerOf = (name: string, socket: object, filters: readonly object[]) => ({
  ...{ name, address: socket },
  listener_filters: [{ name: "tls", typed_config: type(`${LISTENER}.tls_inspector.v3.TlsInspector`) }],
  filter_chains: [{ transport_socket: { name: "envoy.transport_sockets.tls", typed_config: tls }, filters }],
})

const NETWORK = "envoy.extensions.filters.network"
const addressOf = (set: number): string => `127.0.3.${set + 1}`

/** A listener for connections that are not HTTP, under one policy. */
const overConnections = (port: number) => (policy: AuthorizationPolicy, set: number) =>
  listenerOf(`tcp-${set}`, { socket_address: { address: addressOf(set), port_value: port } }, [
    {
      name: "rbac",
      typed_config: { ...type(`${NETWORK}.rbac.v3.RBAC`), stat_prefix: "rbac", rules: rbacOf(overTcp(policy)) },
    },
    {
      name: "tcp",
      typed_config: { ...type(`${NETWORK}.tcp_proxy.v3.TcpProxy`), stat_prefix: "tcp", cluster: "echo" },
    },
  ])

/** One listener; the header `x-set` selects the policy. */
function sidecar(
  port: number,
  application: number,
  policies: readonly AuthorizationPolicy[],
  connections: readonly AuthorizationPolicy[],
): object {
  const rbac = (rules: object) => ({ ...type("envoy.extensions.filters.http.rbac.v3.RBAC"), rules })
  const perRoute = (one: AuthorizationPolicy) => ({
    rbac: { ...type("envoy.extensions.filters.http.rbac.v3.RBACPerRoute"), rbac: { rules: rbacOf(one) } },
  })
  const manager = {
    ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
    stat_prefix: "inbound",
    normalize_path: true,
    use_remote_address: false,
    route_config: {
      virtual_hosts: [
        {
          name: "all",
          domains: ["*"],
          routes: policies.map((one, index) => ({
            match: { prefix: "/", headers: [{ name: "x-set", string_match: { exact: String(index) } }] },
            route: { cluster: "application" },
            typed_per_filter_config: perRoute(one),
          })),
        },
      ],
    },
    http_filters: [
      {
        name: "envoy.filters.http.jwt_authn",
        typed_config: {
          ...type("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"),
          providers: Object.fromEntries(
            ISSUERS.map((issuer, index) => [
              `p${index}`,
              { issuer, local_jwks: { inline_string: jwks }, payload_in_metadata: "payload", forward: true },
            ]),
          ),
          rules: [
            {
              match: { prefix: "/" },
              requires: {
                requires_any: {
                  requirements: [...ISSUERS.map((_, index) => ({ provider_name: `p${index}` })), { allow_missing: {} }],
                },
              },
            },
          ],
        },
      },
      { name: "rbac", typed_config: rbac({ action: "DENY", policies: {} }) },
      { name: "envoy.filters.http.router", typed_config: type("envoy.extensions.filters.http.router.v3.Router") },
    ],
  }
  const http = [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }]
  return {
    clusters: [clusterOf("application", application), clusterOf("echo", portOf(echo))],
    listeners: [listenerOf("inbound", address(port), http), ...connections.map(overConnections(port))],
  }
}

/** From the loopback address, whichever one is called. */
function connected(host: string, port: number, { from, sni }: Pick<DescribedRequest, "from" | "sni">): TLSSocket {
  const own = from === undefined ? undefined : certificates.get(from)
  return connect({
    ...{ host, port, localAddress: "127.0.0.1", rejectUnauthorized: false },
    ...(own && { cert: own.certificate, key: own.privateKey }),
    ...(sni !== undefined && { servername: sni }),
  })
}

/** Whether a byte comes back. */
async function echoed(socket: TLSSocket): Promise<boolean> {
  const closed = new Promise<false>(resolve => {
    socket.on("close", () => resolve(false)).on("error", () => resolve(false))
  })
  const answered = new Promise<true>(resolve => socket.on("data", () => resolve(true)))
  socket.write("x")
  try {
    return await Promise.race([closed, answered])
  } finally {
    socket.destroy()
  }
}

/** The status of Envoy's response. */
async function answered(port: number, set: number, asked: DescribedRequest): Promise<number> {
  const { method = "GET", host, path = "/", headers = {}, token } = asked
  const more = Object.entries(headers).flatMap(([name, value]) => [value].flat().map(line => `${name}: ${line}`))
  if (typeof token === "object") {
    const jwt = new SignJWT({ ...token.claims, exp: now + 3600 }).setProtectedHeader({ alg: "ES256", kid: "k" })
    more.push(`authorization: Bearer ${await jwt.sign(privateKey)}`)
  }
  const socket = connected("127.0.0.1", port, asked)
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, `x-set: ${set}`, ...more, "", ""]
  socket.write(lines.join("\r\n"))
  try {
    let reply = ""
    for await (const chunk of socket.setEncoding("latin1")) {
      reply += chunk
      if (reply.includes("\r\n\r\n")) break
    }
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1])
  } finally {
    socket.destroy()
  }
}

const application = createServer((_, reply) => reply.end("ok"))
const echo = createEcho(socket => socket.on("error", () => socket.destroy()).pipe(socket))
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port // a TCP server
const seed = Date.now() % 2 ** 31
const written = fc.sample(policy, { numRuns: 300, seed }).filter(one => validate(one, names).document !== undefined)
/** Few generated policies look at connections alone, and others allow none. */
const ofConnections = [
  ...written.slice(0, 20),
  ...written
    .map(one => ({ ...one, spec: { ...one.spec, rules: (one.spec.rules ?? []).map(withoutHttp) } }))
    .filter(one => validate(one, names).document !== undefined)
    .slice(0, 40),
]
let sets: readonly AuthorizationPolicy[] = []
let connectionSets: readonly AuthorizationPolicy[] = []
let envoy: Envoy

/** Replaces the placeholder with the proxy's port. */
const listening = (one: AuthorizationPolicy, port: number): AuthorizationPolicy =>
  JSON.parse(JSON.stringify(one).replaceAll(`"${LISTENED}"`, `"${port}"`)) // the same policy

beforeAll(async () => {
  for (const server of [application, echo]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  envoy = await Envoy.configured(own => {
    sets = written.map(one => listening(one, own))
    connectionSets = ofConnections.map(one => listening(one, own))
    return sidecar(own, portOf(application), sets, connectionSets)
  })
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
  echo.close()
})

it("predicts for every request what Envoy does with it", async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.nat(sets.length - 1), request, async (set, described) => {
      const asked = { ...described, ip: "127.0.0.1", destinationIp: "127.0.0.1", port: envoy.port }
      const documents: readonly PolicyDocument[] = [tokens, ...sets.slice(set, set + 1)]
      const { verdict } = new Trial(documents, workload, mesh, now).ask(asked)
      const about = `policies of seed ${seed}: ${JSON.stringify(sets[set]?.spec)}`
      expect([await answered(envoy.port, set, asked), about]).toEqual([verdict === "allow" ? 200 : 403, about])
      seen.add(`${sets[set]?.spec.action} ${verdict}`)
    }),
    { numRuns: 250 * inject("effort") },
  )
  expect([...seen].sort()).toEqual(["ALLOW allow", "ALLOW deny", "DENY allow", "DENY deny"])
})

it("says of every TCP connection what Envoy does with it", async () => {
  const connection = fc.record(
    { from: fc.constantFrom(...IDENTITIES), sni: fc.constantFrom("w.com", "W.com") },
    { requiredKeys: [] },
  )
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.nat(connectionSets.length - 1), connection, async (set, caller) => {
      const host = addressOf(set)
      const asked = { ...caller, protocol: "tcp" as const, ip: "127.0.0.1", destinationIp: host, port: envoy.port }
      const { verdict } = new Trial(connectionSets.slice(set, set + 1), workload, mesh, now).ask(asked)
      const about = `policies of seed ${seed}: ${JSON.stringify(connectionSets[set]?.spec)}`
      expect([await echoed(connected(host, envoy.port, caller)), about]).toEqual([verdict === "allow", about])
      seen.add(`${connectionSets[set]?.spec.action} ${verdict}`)
    }),
    { numRuns: 300 * inject("effort") },
  )
  expect([...seen].sort()).toEqual(["ALLOW allow", "ALLOW deny", "DENY allow", "DENY deny"])
})
