// SPDX-License-Identifier: Apache-2.0
// Verdicts that Istio's own tests state for authorization, tokens, mTLS modes and path normalization (istio.io/istio, August 2026:
// tests/integration/security, and what they expect of `ComposePeerAuthentication` and of rules on TCP), in policies of our own.

import { describe, expect, it } from "vitest"
import { meshConfig, PATH_NORMALIZATIONS, type PathNormalization } from "../mesh/config.js"
import { meshNames } from "../mesh/names.js"
import type { Claim } from "../request/attributes.js"
import { normalizeTarget } from "../request/path.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  RequestAuthentication,
} from "../resources/document.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import type { DescribedRequest } from "./described-request.js"
import { Trial } from "./trial.js"

const mesh = meshConfig({
  names: meshNames({ mesh: "istio", domain: "istio.io" }),
  dialect: "istio",
  numTrustedProxies: 1,
})
const workload = { namespace: "echo", name: "b", labels: { app: "b" } }
const NOW = 1_760_000_000
const metadata = (name: string) => ({ name, namespace: "echo", creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.istio.io/v1"

const policy = (action: "ALLOW" | "DENY", ...rules: Rule[]): AuthorizationPolicy => ({
  ...{ apiVersion, kind: "AuthorizationPolicy", metadata: metadata(action.toLowerCase()) },
  spec: { action, rules },
})
const at = (path: string, rule: Rule = {}): Rule => ({ ...rule, to: [{ operation: { paths: [path] } }] })
const when = (key: string, ...values: string[]): Rule => ({ when: [{ key, values }] })
const unless = (key: string, ...notValues: string[]): Rule => ({ when: [{ key, notValues }] })

const statusOf = (documents: readonly PolicyDocument[], asked: DescribedRequest): number => {
  const { verdict, status } = new Trial(documents, workload, mesh, NOW).ask(asked)
  return verdict === "allow" ? 200 : (status ?? 0)
}
type Case = readonly [asked: DescribedRequest, allowed: boolean]
const all = (documents: readonly PolicyDocument[], cases: readonly Case[]): void => {
  it.each(cases)("%j: %s", (asked, allowed) => {
    expect(statusOf(documents, asked)).toBe(allowed ? 200 : 403)
  })
}
const paths = (allowed: readonly string[], denied: readonly string[]): readonly Case[] => [
  ...allowed.map((path): Case => [{ path }, true]),
  ...denied.map((path): Case => [{ path }, false]),
]

describe("a template", () => {
  const operation = { paths: ["/allow/admin/{**}", "/foo/{*}/bar/{**}", "/store/{**}/cart"] }
  const matched = ["/allow/admin/", "/allow/admin/temp", "/allow/admin/temp.txt", "/allow/admin/foo/temp.txt"]
  const inner = [
    "/foo/buzz/bar/bat.txt",
    "/foo/buzz/bar/bat.temp.txt",
    "/foo/buzz/bar/bat/fuzz.txt",
    "/foo/buzz/bar/bat",
  ]
  const carts = ["/store//cart", "/store/foo/cart", "/store/foo/bar/cart"]
  const others = ["/allow/admin", "/allow/user/", "/allow/admin?param=value", "/allow"]
  const none = ["/foo/bar/bat.txt", "/foo//bar/bat.txt", "/store/cart"]
  all([policy("ALLOW", { to: [{ operation }] })], paths([...matched, ...inner, ...carts], [...others, ...none]))
})

describe("DENY", () => {
  all(
    [policy("DENY", at("/allow/admin")), policy("ALLOW", at("/allow*"))],
    paths(["/allow", "/allow?param=value"], ["/allow/admin", "/allow/admin?param=value"]),
  )
})

describe("what is negated", () => {
  const ofMethod = policy("ALLOW", { to: [{ operation: { notMethods: ["PUT"] } }] })
  all(
    [ofMethod],
    [
      [{ method: "GET" }, true],
      [{ method: "PUT" }, false],
    ],
  )
  const ofHost = policy("ALLOW", { to: [{ operation: { notHosts: ["deny.b.com"] } }] })
  all(
    [ofHost],
    [
      [{ host: "allow.b.com" }, true],
      [{ host: "deny.b.com" }, false],
    ],
  )
})

describe("conditions", () => {
  const allowed = {
    from: "cluster.local/ns/echo/sa/a",
    ip: "10.1.0.1",
    sni: "outbound_.80_._.b.echo.svc.cluster.local",
  }
  const denied = { ...allowed, from: "cluster.local/ns/other/sa/a", ip: "10.2.0.1" }
  const both = (name: string, key: string, good: string, bad: string): readonly Rule[] => [
    at(`/${name}`, when(key, good)),
    at(`/not-${name}`, unless(key, bad)),
  ]
  const policies = [
    policy(
      "ALLOW",
      ...both("headers", "request.headers[x-foo]", "foo", "bar"),
      ...both("ip", "source.ip", "10.1.0.1", "10.2.0.1"),
      ...both("namespace", "source.namespace", "echo", "other"),
      ...both("principal", "source.principal", allowed.from, denied.from),
      ...both("trust-domain", "source.trustDomain", "cluster.local", "bad.example.com"),
      ...both("destination-ip", "destination.ip", "10.0.0.1", "10.0.0.1"),
      ...both("destination-port", "destination.port", "8080", "8080"),
      ...both("sni", "connection.sni", "*.b.echo.svc.cluster.local", "*.b.echo.svc.cluster.local"),
      at("/sni-bad", when("connection.sni", "never-matched")),
    ),
  ]
  const ofCaller = ["ip", "namespace", "principal"].flatMap(name => [`/${name}`, `/not-${name}`])
  all(policies, [
    [{ ...allowed, path: "/headers", headers: { "x-foo": "foo" } }, true],
    [{ ...allowed, path: "/headers", headers: { "x-foo": "bar" } }, false],
    [{ ...allowed, path: "/headers" }, false],
    [{ ...allowed, path: "/not-headers", headers: { "x-foo": "foo" } }, true],
    [{ ...allowed, path: "/not-headers", headers: { "x-foo": "bar" } }, false],
    ...ofCaller.flatMap((path): Case[] => [
      [{ ...allowed, path }, true],
      [{ ...denied, path }, false],
    ]),
    ...["/trust-domain", "/not-trust-domain", "/destination-ip", "/destination-port", "/sni"].map(
      (path): Case => [{ ...denied, path }, true],
    ),
    ...["/not-destination-ip", "/not-destination-port", "/not-sni", "/sni-bad"].map(
      (path): Case => [{ ...allowed, path }, false],
    ),
  ])
})

describe("callers", () => {
  const source = (one: object): Rule => ({ from: [{ source: one }] })
  const from = "cluster.local/ns/echo/sa/a"
  all(
    [
      policy(
        "ALLOW",
        at("/allow", source({ trustDomains: ["cluster.local"] })),
        at("/deny", source({ trustDomains: ["bad.example.com"] })),
        at("/not-trust-domain", source({ notTrustDomains: ["cluster.local"] })),
        at("/not-deny", source({ notTrustDomains: ["bad.example.com"] })),
        at("/account", source({ serviceAccounts: ["echo/a"] })),
        at("/account-here", source({ serviceAccounts: ["a"] })),
        at("/other-account", source({ serviceAccounts: ["other/a"] })),
      ),
    ],
    [
      ...["/allow", "/not-deny", "/account", "/account-here"].map((path): Case => [{ from, path }, true]),
      ...["/deny", "/not-trust-domain", "/other-account"].map((path): Case => [{ from, path }, false]),
    ],
  )
})

describe("an identity or namespace", () => {
  const source = (one: object): Rule => ({ from: [{ source: one }] })
  const [from, other] = ["cluster.local/ns/echo/sa/a", "cluster.local/ns/other/sa/a"]
  const rules = [
    at("/principal", source({ principals: [from] })),
    at("/not-principal", source({ notPrincipals: [other] })),
    at("/namespace", source({ namespaces: ["echo"] })),
    at("/not-namespace", source({ notNamespaces: ["other"] })),
  ]
  const denied = [
    at("/principal", source({ principals: [other] })),
    at("/namespace", source({ namespaces: ["other"] })),
    at("/not-namespace", source({ notNamespaces: ["echo"] })),
  ]
  for (const policies of [[policy("ALLOW", ...rules)], [policy("DENY", ...denied)]]) {
    all(
      policies,
      ["/principal", "/namespace", "/not-namespace"].flatMap((path): readonly Case[] => [
        [{ from, path }, true],
        [{ from: other, path }, false],
      ]),
    )
  }
  all([policy("ALLOW", ...rules)], paths(["/not-principal", "/not-namespace"], ["/principal", "/namespace"]))
})

describe("a token", () => {
  const [ONE, TWO, THREE] = [1, 2, 3].map(number => `test-issuer-${number}@istio.io`)
  const rule = (issuer = "", more: Partial<JwtRule> = {}): JwtRule => ({
    issuer,
    jwksUri: "https://keys.example",
    ...more,
  })
  const tokens: RequestAuthentication = {
    ...{ apiVersion, kind: "RequestAuthentication", metadata: metadata("default") },
    spec: { jwtRules: [rule(ONE), rule(TWO, { spaceDelimitedClaims: ["custom_scope", "teams"] })] },
  }
  const claim = (path: string, key: string, ...values: string[]) => at(path, when(`request.auth.${key}`, ...values))
  const policies = [
    tokens,
    policy(
      "ALLOW",
      at("/token1", { from: [{ source: { requestPrincipals: [`${ONE}/sub-1`] } }] }),
      claim("/token2", "claims[groups]", "group-2"),
      at("/token3", { from: [{ source: { notRequestPrincipals: [`${ONE}/sub-1`] } }] }),
      at("/any", { from: [{ source: { requestPrincipals: ["*"] } }] }),
      claim("/scope", "claims[scope]", "append", "write"),
      claim("/otherscope", "claims[scope]", "admin"),
      claim("/permission", "claims[permission]", "write", "append"),
      claim("/custom-admin", "claims[custom_scope]", "admin"),
      claim("/custom-user", "claims[custom_scope]", "user"),
      claim("/nested-key1", "claims[nested][key1]", "valueB"),
      claim("/nested-key2", "claims[nested][key2]", "valueC"),
      claim("/nested-2-key1", "claims[nested][nested-2][key1]", "valueA"),
      claim("/nested-non-exist", "claims[nested][non-exist]", "valueC"),
      claim("/presenter", "presenter", "bar"),
      claim("/audiences", "audiences", "foo"),
    ),
  ]
  type Claims = { readonly [name: string]: Claim }
  const token = (number: number, more: Claims = {}) => ({
    claims: {
      iss: `test-issuer-${number}@istio.io`,
      sub: `sub-${number}`,
      groups: [`group-${number}`],
      iat: 1_562_182_722,
      ...more,
    },
  })
  const custom = token(2, { custom_scope: "admin user" })
  const nested = token(1, { nested: { key1: ["valueA", "valueB"], "nested-2": { key1: ["valueA", "valueB"] } } })
  const nested2 = token(1, { nested: { key2: "valueC", "nested-2": { key2: "valueC" } } })
  const none = ["/token1", "/token2", "/any", "/custom-admin", "/custom-user"].map((path): Case => [{ path }, false])
  const on = (of: DescribedRequest["token"], allowed: readonly string[], denied: readonly string[]): readonly Case[] =>
    of === undefined ? [] : paths(allowed, denied).map(([asked, is]): Case => [{ ...asked, token: of }, is])
  all(policies, [
    ...none,
    ...on(token(1), ["/token1", "/any"], ["/token2", "/token3", "/permission", "/custom-admin", "/custom-user"]),
    ...on(token(2), ["/token2", "/token3", "/any"], ["/token1", "/permission"]),
    ...on(token(2, { permission: "read write" }), ["/permission"], []),
    ...on(token(2, { scope: "write read" }), ["/scope"], ["/otherscope"]),
    ...on(custom, ["/custom-admin", "/custom-user"], []),
    ...on(nested, ["/nested-key1", "/nested-2-key1"], ["/nested-key2", "/nested-non-exist"]),
    ...on(nested2, ["/nested-key2"], ["/nested-key1", "/nested-2-key1", "/nested-non-exist"]),
    ...on(token(1, { azp: "bar" }), ["/presenter"], []),
    ...on(token(1, { aud: "foo" }), ["/audiences"], []),
    ...on(token(1, { aud: ["foo", "buzz"] }), ["/audiences"], []),
  ])

  const from = (more: Partial<JwtRule>) => [{ ...tokens, spec: { jwtRules: [rule(ONE, more)] } }]
  const sent = (prefix: string | undefined, place: object = {}): DescribedRequest => {
    return { token: { ...token(1), ...(prefix === undefined ? {} : { prefix }), ...place } }
  }
  it.each<readonly [string, readonly PolicyDocument[], DescribedRequest, number]>([
    ["an issuer without a rule", [tokens], { token: { claims: { iss: THREE ?? "", sub: "sub-1" } } }, 401],
    ["that has expired", [tokens], { token: { ...token(1), expired: true } }, 401],
    ["that is no token", [tokens], { token: "invalid-token" }, 401],
    ["with another scheme", [tokens], { headers: { authorization: "Basic YTpi" } }, 200],
    ["of an audience that is not accepted", from({ audiences: ["bar"] }), { token: token(1, { aud: "foo" }) }, 403],
    ["in a parameter", from({ fromParams: ["my-token"] }), sent(undefined, { param: "my-token" }), 200],
    ["in a cookie", from({ fromCookies: ["auth-token"] }), sent(undefined, { cookie: "auth-token" }), 200],
    [
      "in a header",
      from({ fromHeaders: [{ name: "x-jwt", prefix: "Bearer " }] }),
      sent("Bearer ", { header: "x-jwt" }),
      200,
    ],
  ])("%s", (_, documents, asked, status) => {
    expect(statusOf(documents, asked)).toBe(status)
  })
})

describe("a selector", () => {
  const named = (name: string, labels: Record<string, string> | undefined, namespace = "echo"): AuthorizationPolicy => {
    const { spec, ...rest } = policy("ALLOW", at(`/${name}`))
    const selector = labels === undefined ? {} : { selector: { matchLabels: labels } }
    return { ...rest, metadata: { ...metadata(name), namespace }, spec: { ...spec, ...selector } }
  }
  const policies = [
    named("workload", { app: "b" }),
    named("bad", { app: "b", foo: "bla" }),
    named("all", undefined),
    named("other-namespace", undefined, "other"),
    named("system", { app: "b" }, "istio-system"),
    named("system-of-another", { app: "c" }, "istio-system"),
  ]
  all(policies, paths(["/workload", "/all", "/system"], ["/bad", "/other-namespace", "/system-of-another"]))
})

describe("a caller without mTLS", () => {
  const denied = policy("DENY", { from: [{ source: { notPrincipals: ["*"] } }] })
  const from = "cluster.local/ns/echo/sa/a"
  all(
    [denied],
    [
      [{ from }, true],
      [{}, false],
    ],
  )
  it("is denied on TCP too", () => {
    expect(statusOf([denied], { from, protocol: "tcp" })).toBe(200)
    expect(statusOf([denied], { protocol: "tcp" })).toBe(0)
  })
})

describe("a port", () => {
  const notHttp2 = policy("ALLOW", { to: [{ operation: { notPorts: ["8085"] } }] })
  const deniedGlobally = policy("DENY", {
    to: [{ operation: { ports: ["8080"], paths: ["/global-deny*"], notPaths: ["/global-deny/allow"] } }],
  })
  all(
    [notHttp2, deniedGlobally],
    [
      [{ port: 8080 }, true],
      [{ port: 8085 }, false],
      [{ path: "/global-deny" }, false],
      [{ path: "/global-deny/x" }, false],
      [{ path: "/global-deny/allow" }, true],
      [{ path: "/other/global-deny" }, true],
    ],
  )
})

describe("a rule with fields of HTTP, on TCP,", () => {
  const http: readonly (readonly [string, Rule])[] = [
    ["methods", { to: [{ operation: { methods: ["GET"] } }] }],
    ["paths", { to: [{ operation: { paths: ["/a"] } }] }],
    ["hosts", { to: [{ operation: { hosts: ["a"] } }] }],
    ["requestPrincipals", { from: [{ source: { requestPrincipals: ["*"] } }] }],
    ["headers", when("request.headers[a]", "b")],
    ["claims", when("request.auth.claims[a]", "b")],
    ["audiences", when("request.auth.audiences", "b")],
    ["presenter", when("request.auth.presenter", "b")],
    ["negated fields", { to: [{ operation: { notMethods: ["GET"] } }] }],
    ["one alternative of two", { to: [{ operation: { ports: ["8080"] } }, { operation: { methods: ["GET"] } }] }],
  ]
  const isAllowed = (documents: readonly PolicyDocument[], port = 8080) =>
    new Trial(documents, workload, mesh, NOW).ask({ protocol: "tcp", port }).verdict

  it.each(http)("allows nothing: %s", (_, rule) => {
    expect(isAllowed([policy("ALLOW", rule)])).toBe("deny")
    expect(isAllowed([policy("ALLOW", rule, { to: [{ operation: { ports: ["8080"] } }] })])).toBe("allow")
  })
  it.each(http)("denies by what is left of it: %s", (_, rule) => {
    expect(isAllowed([policy("DENY", rule)])).toBe("deny")
    const elsewhere = { ...rule, when: [...(rule.when ?? []), { key: "destination.port", values: ["9090"] }] }
    expect(isAllowed([policy("DENY", elsewhere)])).toBe("allow")
    expect(isAllowed([policy("DENY", elsewhere)], 9090)).toBe("deny")
  })
})

describe("the mTLS mode", () => {
  type Mode = "UNSET" | "DISABLE" | "PERMISSIVE" | "STRICT"
  const MESH = "istio-system"
  const b = { matchLabels: { app: "b" } }
  let age = 0
  const peer = (mode: Mode | undefined, namespace = "echo", spec: object = {}): PeerAuthentication => ({
    ...{ apiVersion, kind: "PeerAuthentication" },
    metadata: { name: `p${age}`, namespace, creationTimestamp: new Date(1000 * (NOW - age++)).toISOString() },
    spec: { ...(mode && { mtls: { mode } }), ...spec },
  })
  const modeOf = (documents: readonly PolicyDocument[], port = 8080): string => {
    const isOpen = (from?: string) =>
      new Trial(documents, workload, mesh, NOW).ask({ port, ...(from && { from }) }).verdict === "allow"
    const [plain, mutual] = [isOpen(), isOpen("cluster.local/ns/echo/sa/a")]
    return plain ? (mutual ? "PERMISSIVE" : "DISABLE") : "STRICT"
  }
  const ports = { portLevelMtls: { 80: { mode: "DISABLE" }, 90: { mode: "UNSET" }, 100: {} } }

  // If there are several, the last one is the oldest.
  type ModeCase = readonly [what: string, documents: readonly PeerAuthentication[], mode: string, port?: number]
  const cases: readonly ModeCase[] = [
    ["is permissive without policies", [], "PERMISSIVE"],
    ["is that of the mesh", [peer("STRICT", MESH)], "STRICT"],
    ["of a namespace counts before that of the mesh", [peer("PERMISSIVE"), peer("STRICT", MESH)], "PERMISSIVE"],
    ["ignores selectors in the root namespace", [peer("STRICT", MESH, { selector: b })], "PERMISSIVE"],
    ["of a workload counts first", [peer("STRICT"), peer("PERMISSIVE", "echo", { selector: b })], "PERMISSIVE"],
    [
      "of a workload counts before that of the mesh",
      [peer("STRICT", "echo", { selector: b }), peer("DISABLE", MESH)],
      "STRICT",
    ],
    [
      "is that of the oldest of the mesh",
      [peer("STRICT", MESH), peer("DISABLE", MESH), peer("PERMISSIVE", MESH)],
      "PERMISSIVE",
    ],
    ["is that of the oldest of a namespace", [peer("STRICT"), peer("DISABLE")], "DISABLE"],
    [
      "is that of the oldest of a workload",
      [peer("DISABLE", "echo", { selector: b }), peer("STRICT", "echo", { selector: b })],
      "STRICT",
    ],
    ["is permissive where the mesh says nothing", [peer("UNSET", MESH)], "PERMISSIVE"],
    ["is inherited from the mesh", [peer("STRICT", MESH), peer("UNSET", "echo", { selector: b })], "STRICT"],
    ["is inherited from the namespace", [peer("STRICT"), peer(undefined, "echo", { selector: b })], "STRICT"],
    [
      "is inherited through the namespace",
      [peer("STRICT", MESH), peer("UNSET"), peer("UNSET", "echo", { selector: b })],
      "STRICT",
    ],
    [
      "of a port counts first",
      [peer("STRICT", MESH), peer(undefined, "echo", { selector: b, ...ports })],
      "DISABLE",
      80,
    ],
    [
      "of a port is inherited",
      [peer("STRICT", MESH), peer(undefined, "echo", { selector: b, ...ports })],
      "STRICT",
      90,
    ],
    [
      "of a port without one is inherited",
      [peer("STRICT", MESH), peer(undefined, "echo", { selector: b, ...ports })],
      "STRICT",
      100,
    ],
    [
      "of other ports is that of the workload",
      [peer("STRICT", MESH), peer(undefined, "echo", { selector: b, ...ports })],
      "STRICT",
    ],
  ]
  it.each(cases.map(([what, documents, mode, port = 8080]) => [what, documents, mode, port] as const))(
    "%s",
    (_, documents, mode, port) => {
      expect(modeOf(documents, port)).toBe(mode)
    },
  )
})

describe("a path", () => {
  const NONE = "as it is"
  /** In the order of the modes. */
  const cases: readonly (readonly [sent: string, none: string, base: string, merged: string, decoded: string])[] = [
    ["/", "/", "/", "/", "/"],
    ["/app#foo", "/app", "/app", "/app", "/app"],
    ["/app/../admin", NONE, "/admin", "/admin", "/admin"],
    ["/app//", NONE, NONE, "/app/", "/app/"],
    ["/app/%2f", NONE, NONE, NONE, "/app/"],
    ["/app%2f/", NONE, NONE, NONE, "/app/"],
    ["/xyz%30..//abc", NONE, "/xyz0..//abc", "/xyz0../abc", "/xyz0../abc"],
    ["/app/%2E./admin", NONE, "/admin", "/admin", "/admin"],
    ["/app\\admin", NONE, "/app/admin", "/app/admin", "/app/admin"],
    ["/app/\\/\\/\\admin", NONE, "/app//////admin", "/app/admin", "/app/admin"],
    ["/%2Fapp%5cadmin%5Cabc", NONE, NONE, NONE, "/app/admin/abc"],
    [
      "/%5Capp%2f%5c%2F%2e%2e%2fadmin%5c\\abc",
      NONE,
      "/%5Capp%2f%5c%2F..%2fadmin%5c/abc",
      "/%5Capp%2f%5c%2F..%2fadmin%5c/abc",
      "/app/admin/abc",
    ],
    ["/app//../admin", NONE, "/app/admin", "/app/admin", "/app/admin"],
    ["/app//../../admin", NONE, "/admin", "/admin", "/admin"],
    // Not from Istio's tests, but from Envoy's behaviour: decoding must not complete an escape.
    ["/%a%41", NONE, "/%25aA", "/%25aA", "/%25aA"],
    ["/%%41a", NONE, "/%25Aa", "/%25Aa", "/%25Aa"],
    ["/%%34%31", NONE, "/%2541", "/%2541", "/%2541"],
    ["/%%41z", NONE, "/%Az", "/%Az", "/%Az"],
  ]
  const modes = cases.flatMap(([sent, ...normal]) =>
    normal.map((path, mode) => [PATH_NORMALIZATIONS[mode], sent, path === NONE ? sent : path] as const),
  )
  const decoded = ["/%c0%2e%c0%2e/admin /%c0.%c0./admin", "/%c0%2fadmin /%c0/admin", "/..;/admin /admin"].map(line =>
    line.split(" "),
  )
  const kept = [
    ...["/0x2e0x2e/admin", "/%25c0%25ae%25c1%259cadmin", "/%252e%252e/admin", "/%252e%252e%252fadmin", "/%c1%9cadmin"],
    ...["/%c0%ae%c0%ae/admin", "/.../admin", "/;/admin", "/admin;a=b", "/admin;a=b/xyz", "/admin,a=b/xyz", "/ADMIN"],
  ]
  const strictest: PathNormalization = "DECODE_AND_MERGE_SLASHES"
  it.each([
    ...modes,
    ...decoded.map(([sent = "", path = ""]) => [strictest, sent, path] as const),
    ...kept.map(path => [strictest, path, path] as const),
    [strictest, "/admin%00", undefined] as const,
  ])("%s: %s is %s", (mode = strictest, sent, path) => {
    expect(normalizeTarget(sent, mode, "istio")?.path).toBe(path)
  })
})
