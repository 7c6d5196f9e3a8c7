// SPDX-License-Identifier: Apache-2.0
// Generates policies and requests from a vocabulary so small that rules and requests match often. A generator whose rules
// never match would prove nothing.

import fc from "fast-check"
import { type MeshConfig, meshConfig } from "../../mesh/config.js"
import type { Attributes } from "../../request/attributes.js"
import type { Condition, Operation, Rule, Source } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../../resources/document.js"
import { type Asked, httpRequest, policy, tcpConnection } from "./requests.js"

const pick = <T extends string>(...values: T[]) => fc.constantFrom(...values)
const some = (value: fc.Arbitrary<string>) => fc.array(value, { minLength: 1, maxLength: 3 })

const principals = pick(
  "*",
  "cluster.local/ns/foo/sa/a",
  "cluster.local/ns/foo/*",
  "*/sa/a",
  "other.td/ns/bar/sa/b",
  "old.td/ns/bar/sa/b",
  "*b",
)
const namespaces = pick("foo", "bar", "*", "f*", "*r", "b*r", "*o*", "prod-*-eu", "prod-*", "*sa")
const serviceAccounts = pick("a", "b", "foo/a", "bar/b", "bar/a")
const trustDomains = pick("cluster.local", "old.td", "*.td", "other*", "*")
const requestPrincipals = pick(
  "*",
  "iss/sub",
  "iss/*",
  "iss/s*",
  "*/sub",
  "*ss/sub",
  "*ub",
  "is*",
  "iss",
  "*ss/*",
  "iss/a/b",
  "iss/a*",
  "https://a.com/*",
  "https://a.com/https://a.com",
  "iss/",
  "/sub",
)
const blocks = pick("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "192.168.0.0/16", "::1", "fd00::/8", "::/0")
/** Issuers of the workload's RequestAuthentications, enforced and shadow. */
export const issuers = fc.subarray(["iss", "iss/a", "https://a.com", "https://a.com/https:/", ""])
const hosts = pick("a.com", "*.a.com", "a.com:*", "A.COM:8080", "*", "x*", "a.com.", "*.a.com.", "a.com.:*", "a.com.*")
const methods = pick("GET", "POST", "*", "get", "P*")
const ports = pick("80", "8080", "443", "080")
const paths = pick(
  "/",
  "/a",
  "/a*",
  "/a/b",
  "/ab*",
  "*/c",
  "*.txt",
  "*",
  "/a/{*}",
  "/a/{**}",
  "/a/{*}/c",
  "/{**}/c",
  "/{*}/{*}",
  "/a/{*}/{**}",
  "/x*y",
  "/*",
  "/{**}",
  "/{*}",
)
const texts = pick("v1", "v*", "*1", "*", "v2", "admin", "*v*", "true", "7", "1.5", "/*", "a.com.")

const field = <K extends string>(name: K, values: fc.Arbitrary<string>) =>
  fc.record(
    { [name]: some(values), [`not${name.charAt(0).toUpperCase()}${name.slice(1)}`]: some(values) },
    { requiredKeys: [] },
  )

const merged = (...parts: fc.Arbitrary<object>[]): fc.Arbitrary<object> =>
  fc.tuple(...parts.map(part => fc.option(part, { freq: 1, nil: {} }))).map(records => Object.assign({}, ...records))

const source: fc.Arbitrary<Source> = merged(
  field("principals", principals),
  field("namespaces", namespaces),
  field("serviceAccounts", serviceAccounts),
  field("trustDomains", trustDomains),
  field("requestPrincipals", requestPrincipals),
  field("ipBlocks", blocks),
  field("remoteIpBlocks", blocks),
)

const operation: fc.Arbitrary<Operation> = merged(
  field("hosts", hosts),
  field("ports", ports),
  field("methods", methods),
  field("paths", paths),
)

const keyed = (keys: fc.Arbitrary<string>, values: fc.Arbitrary<string>): fc.Arbitrary<Condition> =>
  fc
    .record({ key: keys, values: some(values), notValues: some(values) }, { requiredKeys: ["key"] })
    .filter(condition => condition.values !== undefined || condition.notValues !== undefined)

const condition: fc.Arbitrary<Condition> = fc.oneof(
  keyed(
    pick(
      "request.headers[X-V]",
      "request.headers[:path]",
      "request.headers[host]",
      "request.auth.claims[groups]",
      "request.auth.claims[n][deep]",
      "request.auth.claims[num]",
      "request.auth.audiences",
      "request.auth.presenter",
      "connection.sni",
    ),
    texts,
  ),
  keyed(pick("source.ip", "remote.ip", "destination.ip"), blocks),
  keyed(fc.constant("source.principal"), principals),
  keyed(fc.constant("source.namespace"), namespaces),
  keyed(fc.constant("source.serviceAccount"), serviceAccounts),
  keyed(fc.constant("source.trustDomain"), trustDomains),
  keyed(fc.constant("request.auth.principal"), requestPrincipals),
  keyed(fc.constant("destination.port"), ports),
)

const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: fc.array(fc.record({ source }), { maxLength: 12, size: "small" }),
    to: fc.array(fc.record({ operation }), { maxLength: 12, size: "small" }),
    when: fc.array(condition, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)

/**
 * Rules with one field each, like most rules in practice, and many of them, so that the index has something to split.
 */
const narrowRule: fc.Arbitrary<Rule> = fc.oneof(
  fc
    .tuple(principals, paths)
    .map(([a, b]) => ({ from: [{ source: { principals: [a] } }], to: [{ operation: { paths: [b] } }] })),
  paths.map(value => ({ to: [{ operation: { paths: [value] } }] })),
  blocks.map(value => ({ from: [{ source: { ipBlocks: [value] } }] })),
  requestPrincipals.map(value => ({ from: [{ source: { requestPrincipals: [value] } }] })),
  texts.map(value => ({ when: [{ key: "request.auth.claims[groups]", values: [value] }] })),
)

/** Alternatives that read different attributes, so that an index must not split by either of them. */
const alternatives: fc.Arbitrary<Rule> = fc
  .array(
    fc.oneof(
      principals.map(value => ({ principals: [value] })),
      namespaces.map(value => ({ namespaces: [value] })),
    ),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map(sources => ({ from: sources.map(source => ({ source })) }))

export const policies: fc.Arbitrary<readonly AuthorizationPolicy[]> = fc
  .array(
    fc.record({
      action: pick("ALLOW", "DENY", "AUDIT"),
      enforcement: fc.option(pick("Enforce", "Shadow"), { nil: "Enforce" as const, freq: 3 }),
      rules: fc.oneof(
        fc.array(rule, { maxLength: 3 }),
        fc.array(fc.oneof(rule, alternatives, narrowRule), { maxLength: 20, size: "max" }),
      ),
    }),
    { maxLength: 4 },
  )
  .map(specs => specs.map((spec, index) => policy(`p${index}`, spec, index % 3 === 2 ? "merlon-system" : "foo")))

const claims = fc.record(
  {
    iss: pick("iss", "https://a.com", "iss/a", ""),
    sub: pick("sub", "s", "b", "a/b", "", "https://a.com"),
    aud: fc.oneof(pick("v1", "x"), fc.constant(["v2", "v1"])),
    azp: fc.oneof(pick("v1", "admin"), fc.constant(["v1"]), fc.constant([true])),
    groups: fc.oneof(
      pick("v1", "", "admin"),
      fc.constant(["v2", "x", "*"]),
      fc.constant([7, true, "v1"]),
      fc.constant([[7], null]),
    ),
    n: fc.oneof(fc.constant({ deep: "v1" }), fc.constant({ deep: ["v2"] }), pick("v1")),
    num: fc.constantFrom(1, 7, 1.5, true, false, null),
  },
  { requiredKeys: [] },
)

const asked: fc.Arbitrary<Asked> = fc.record(
  {
    peer: pick(
      "cluster.local/ns/foo/sa/a",
      "other.td/ns/bar/sa/b",
      "old.td/ns/bar/sa/b",
      "cluster.local/ns/prod-7-eu/sa/c",
    ),
    claims,
    method: pick("GET", "POST", "get"),
    host: fc.constantFrom(
      "a.com",
      "w.a.com",
      "A.com:8080",
      "",
      "a.com.",
      "w.a.com.",
      "A.com.:8080",
      "a.com..",
      ".",
      null,
    ),
    target: pick(
      "/",
      "/a",
      "/a/b",
      "/a/b/c",
      "/ab",
      "/a/",
      "/x/c?q=1",
      "/a//c",
      "/f.txt",
      "/x*y",
      "/a/%7C/c",
      "/a/|/c",
      "/a/[x",
      '/"^',
      "*",
    ),
    headers: fc.oneof(
      fc.constant({ "x-v": ["v1"] }),
      fc.constant({ "x-v": ["x", "v2"] }),
      fc.constant({ "x-v": [""] }),
    ),
    from: pick("10.1.2.3", "10.9.9.9", "192.168.1.1", "::1", "fd00::1"),
    remote: pick("10.1.2.3", "8.8.8.8"),
    to: pick("10.1.2.3", "::1"),
    port: fc.constantFrom(80, 8080, 9999),
    sni: pick("v1", "V1", "w.a.com", ""),
  },
  { requiredKeys: [] },
)

/** Requests normalized like those at proxies of the mesh. */
export const requestsIn = (mesh: MeshConfig): fc.Arbitrary<Attributes> =>
  fc.oneof(
    { weight: 4, arbitrary: asked.map(request => httpRequest(request, mesh)) },
    { weight: 1, arbitrary: asked.map(request => tcpConnection(request)) },
  )

export const requests = requestsIn(meshConfig())
