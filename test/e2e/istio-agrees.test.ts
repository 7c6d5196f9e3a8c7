// SPDX-License-Identifier: Apache-2.0
// What `explain` says of Istio's policies is what a real Envoy does that is configured as Istio configures a sidecar:
// generated policies, each as a pair of RBAC filters, and generated requests with identities and tokens over mTLS.
// @module-tag needs/envoy

import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { connect } from "node:tls"
import {
  type AskedRequest,
  type AuthorizationPolicy,
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
import { rbacOf } from "./control/support/istio-filters.js"

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
const source: fc.Arbitrary<Source> = fc.oneof(
  fc.record({ principals: some("*", ...IDENTITIES, "cluster.local/ns/foo/*", "*/sa/b") }),
  fc.record({ notPrincipals: some("*", IDENTITIES[0]) }),
  fc.record({ namespaces: some("foo", "sa", "*sa", "prod-*", "*-eu", "p*eu", "*") }),
  fc.record({ notNamespaces: some("foo", "*sa") }),
  fc.record({
    requestPrincipals: some("*", "iss/sub", "iss/*", "*/sub", "https://a.com/a/b", "https://a.com/*", "iss/s*"),
  }),
  fc.record({ notRequestPrincipals: some("*", "iss/sub") }),
  fc.record({ remoteIpBlocks: some("8.8.8.8", "10.0.0.0/8", "127.0.0.0/8") }),
  fc.record({ ipBlocks: some("127.0.0.0/8", "10.0.0.0/8") }),
)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ hosts: some("a.com", "a.com.", "*.com", "A.com:*", "*") }),
  fc.record({ methods: some("GET", "P*", "*", "OPTIONS") }),
  fc.record({ paths: some("/a", "/a*", "*/c", "*", "/*", "/a/{*}", "/{**}", "/a/{**}", "/{*}/c", "/a/{*}/{**}") }),
  fc.record({ notPaths: some("/a", "/a*", "/a/{**}") }),
)
const condition = fc.oneof(
  fc.record({
    key: fc.constantFrom("request.auth.claims[groups]", "request.auth.claims[n][deep]", "request.auth.claims[num]"),
    values: some("v1", "v*", "7", "true", "*"),
  }),
  fc.record({ key: fc.constant("request.headers[x-v]"), notValues: some("v1", "*2") }),
)
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: fc.array(fc.record({ source }), { minLength: 1, maxLength: 2 }),
    to: fc.array(fc.record({ operation }), { minLength: 1, maxLength: 2 }),
    when: fc.array(condition, { minLength: 1, maxLength: 1 }),
  },
  { requiredKeys: [] },
)
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
    num: fc.constantFrom<string | number | boolean>(7, true, "7"),
  },
  { requiredKeys: ["iss", "sub"] },
)
const request: fc.Arbitrary<AskedRequest> = fc.record(
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
    headers: fc.constantFrom({ "x-v": "v1" }, { "x-v": "v2" }, { "x-forwarded-for": "8.8.8.8" }),
    token: claims.map(one => ({ claims: one })),
  },
  { requiredKeys: ["host"] },
)

/** One listener; the header `x-set` chooses the policy. */
function sidecar(port: number, application: number, policies: readonly AuthorizationPolicy[]): object {
  const leaf = authority.issue({ uris: ["spiffe://cluster.local/ns/foo/sa/web"] })
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
  const tls = {
    ...type("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
    common_tls_context: {
      tls_certificates: [
        { certificate_chain: { inline_string: leaf.certificate }, private_key: { inline_string: leaf.privateKey } },
      ],
      validation_context: { trusted_ca: { inline_string: authority.certificate } },
    },
  }
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
    listeners: [
      {
        name: "inbound",
        address: address(port),
        filter_chains: [
          {
            transport_socket: { name: "envoy.transport_sockets.tls", typed_config: tls },
            filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }],
          },
        ],
      },
    ],
  }
}

/** The status that Envoy answers with. */
async function answered(port: number, set: number, asked: AskedRequest): Promise<number> {
  const { method = "GET", host, path = "/", headers = {}, token, from } = asked
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join()}`)
  if (typeof token === "object") {
    const jwt = new SignJWT({ ...token.claims, exp: now + 3600 }).setProtectedHeader({ alg: "ES256", kid: "k" })
    more.push(`authorization: Bearer ${await jwt.sign(privateKey)}`)
  }
  const leaf = from === undefined ? undefined : certificates.get(from)
  const socket = connect({
    ...{ host: "127.0.0.1", port, rejectUnauthorized: false },
    ...(leaf && { cert: leaf.certificate, key: leaf.privateKey }),
  })
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
const seed = Date.now() % 2 ** 31
const sets = fc.sample(policy, { numRuns: 150, seed }).filter(one => validate(one, names).document !== undefined)
let envoy: Envoy

beforeAll(async () => {
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  const { port } = application.address() as AddressInfo // a TCP server
  envoy = await Envoy.configured(own => sidecar(own, port, sets))
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

it("says of every request what Envoy does with it", async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.nat(sets.length - 1), request, async (set, asked) => {
      const documents: readonly PolicyDocument[] = [tokens, ...sets.slice(set, set + 1)]
      const { verdict } = new Trial(documents, workload, mesh, now).ask({ ...asked, ip: "127.0.0.1" })
      const about = `policies of seed ${seed}: ${JSON.stringify(sets[set]?.spec)}`
      expect([await answered(envoy.port, set, asked), about]).toEqual([verdict === "allow" ? 200 : 403, about])
      seen.add(`${sets[set]?.spec.action} ${verdict}`)
    }),
    { numRuns: 250 * inject("effort") },
  )
  expect([...seen].sort()).toEqual(["ALLOW allow", "ALLOW deny", "DENY allow", "DENY deny"])
})
