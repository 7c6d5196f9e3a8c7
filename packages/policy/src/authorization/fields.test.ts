// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { meshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import { from, matches, to, when } from "./testing/judging.js"
import type { Asked } from "./testing/requests.js"

describe("values of a string", () => {
  const header = (pattern: string, ...lines: string[]) =>
    matches(
      when("request.headers[X-Test]", { values: [pattern] }),
      lines.length === 0 ? {} : { headers: { "x-test": lines } },
    )
  const claim = (pattern: string, value: string) =>
    matches(when("request.auth.claims[c]", { values: [pattern] }), { claims: { c: value } })

  test.each([
    ["v", "v", true],
    ["v", "V", false],
    ["v*", "v", true],
    ["v*", "vx", true],
    ["v*", "xv", false],
    ["*v", "xv", true],
    ["*v", "v", true],
    ["*v", "vx", false],
    ["a*b", "a*b", true],
    ["a*b", "axb", false],
    ["*v*", "xv*", true],
    ["*v*", "xvx", false],
    ["*", "x", true],
  ])("%s and %s: %s", (pattern, value, expected) => {
    expect([claim(pattern, value), header(pattern, value)]).toEqual([expected, expected])
  })

  it("takes `*` as present and not empty, and for a header as present", () => {
    expect([claim("*", ""), header("*", ""), header("*")]).toEqual([false, true, false])
  })

  it("tests each line of a header separately", () => {
    expect([header("b", "a", "b"), header("a, b", "a", "b")]).toEqual([true, false])
  })
})

describe("fields", () => {
  const peer = "cluster.local/ns/foo/sa/sleep"
  test.each<[string, Rule, Asked, boolean]>([
    ["a principal", from({ principals: [peer] }), { peer }, true],
    ["a principal by prefix", from({ principals: ["cluster.local/ns/foo/*"] }), { peer }, true],
    ["a principal by suffix", from({ principals: ["*/sa/sleep"] }), { peer }, true],
    ["any principal", from({ principals: ["*"] }), { peer }, true],
    ["any principal, plaintext", from({ principals: ["*"] }), {}, false],
    ["a principal written with its scheme", from({ principals: [`spiffe://${peer}`] }), { peer }, false],
    ["no principal", from({ notPrincipals: ["*"] }), { peer }, false],
    ["no principal, plaintext", from({ notPrincipals: ["*"] }), {}, true],
    ["a namespace", from({ namespaces: ["foo"] }), { peer }, true],
    ["a namespace by stars", from({ namespaces: ["f*o"] }), { peer }, true],
    ["a namespace whose pieces would overlap", from({ namespaces: ["f*oo*o"] }), { peer }, false],
    ["a namespace that ends before it has begun", from({ namespaces: ["fo*oo"] }), { peer }, false],
    ["a namespace across a slash", from({ namespaces: ["foo*sleep"] }), { peer }, false],
    ["another namespace", from({ namespaces: ["fo"] }), { peer }, false],
    ["a service account of the policy's namespace", from({ serviceAccounts: ["sleep"] }), { peer }, true],
    ["a service account by namespace", from({ serviceAccounts: ["foo/sleep"] }), { peer }, true],
    [
      "a service account in any trust domain",
      from({ serviceAccounts: ["sleep"] }),
      { peer: "x.td/ns/foo/sa/sleep" },
      true,
    ],
    ["a service account elsewhere", from({ serviceAccounts: ["bar/sleep"] }), { peer }, false],
    ["a trust domain", from({ trustDomains: ["cluster.local"] }), { peer }, true],
    ["a trust domain by suffix", from({ trustDomains: ["*.local"] }), { peer }, true],
    ["another trust domain", from({ trustDomains: ["other"] }), { peer }, false],
    ["a block of the peer", from({ ipBlocks: ["10.0.0.0/8"] }), { from: "10.2.3.4" }, true],
    ["an address of the peer", from({ ipBlocks: ["10.2.3.4"] }), { from: "10.2.3.5" }, false],
    ["a mapped address of the peer", from({ ipBlocks: ["10.0.0.0/8"] }), { from: "::ffff:10.2.3.4" }, true],
    ["a block of the other family", from({ ipBlocks: ["::/0"] }), { from: "10.2.3.4" }, false],
    ["the client behind trusted proxies", from({ remoteIpBlocks: ["8.8.8.0/24"] }), { remote: "8.8.8.8" }, true],
    ["the peer is not the client", from({ ipBlocks: ["8.8.8.0/24"] }), { remote: "8.8.8.8" }, false],
    ["a host with its port", to({ hosts: ["a.com"] }), { host: "a.com:80" }, false],
    ["a host with any port", to({ hosts: ["a.com:*"] }), { host: "a.com:80" }, true],
    ["a host with a trailing dot", to({ hosts: ["a.com"] }), { host: "a.com." }, true],
    ["a host with a trailing dot in the rule", to({ hosts: ["a.com."] }), { host: "A.com" }, true],
    ["a host with a trailing dot before its port", to({ hosts: ["a.com:*"] }), { host: "a.com.:80" }, true],
    [
      "the header Host with a trailing dot",
      when("request.headers[host]", { values: ["a.com"] }),
      { host: "a.com." },
      true,
    ],
    [
      "the header Host with a trailing dot in the rule",
      when("request.headers[:authority]", { values: ["a.com."] }),
      { host: "a.com" },
      true,
    ],
    ["a host by the labels that follow a dot", to({ hosts: ["a.*"] }), { host: "a.com." }, true],
    ["a host without labels behind the dot", to({ hosts: ["a.*"] }), { host: "a." }, false],
    ["a port of the workload", to({ ports: ["8080"] }), { port: 8080 }, true],
    ["another port", to({ ports: ["80"] }), { port: 8080 }, false],
    ["a method, with regard to case", to({ methods: ["get"] }), { method: "GET" }, false],
    ["a path without its query", to({ paths: ["/a"] }), { target: "/a?b" }, true],
    ["an SNI", when("connection.sni", { values: ["*.foo"] }), { sni: "httpbin.foo" }, true],
    ["no SNI", when("connection.sni", { values: ["*"] }), {}, false],
    ["a destination", when("destination.ip", { values: ["10.0.0.0/24"] }), { to: "10.0.0.7" }, true],
    [
      "an audience among several",
      when("request.auth.audiences", { values: ["b"] }),
      { claims: { aud: ["a", "b"] } },
      true,
    ],
    ["a presenter", when("request.auth.presenter", { values: ["app"] }), { claims: { azp: "app" } }, true],
    [
      "a presenter that is a list",
      when("request.auth.presenter", { values: ["app"] }),
      { claims: { azp: ["web", "app"] } },
      true,
    ],
    ["the host as a header", when("request.headers[:authority]", { values: ["a.com"] }), { host: "a.com" }, true],
    [
      "the host as its old header, whatever HTTP/2 sends",
      when("request.headers[Host]", { values: ["a.com"] }),
      { host: "a.com" },
      true,
    ],
    ["the host as its old header, empty", when("request.headers[host]", { notValues: ["*"] }), { host: "" }, false],
    ["the method as a header", when("request.headers[:method]", { values: ["PUT"] }), { method: "PUT" }, true],
    ["the scheme as a header", when("request.headers[:scheme]", { values: ["http"] }), {}, true],
    ["a trust domain by prefix", from({ trustDomains: ["cluster*"] }), { peer }, true],
    ["any trust domain", from({ trustDomains: ["*"] }), { peer }, true],
    ["any trust domain, plaintext", from({ trustDomains: ["*"] }), {}, false],
    ["any namespace", from({ namespaces: ["*"] }), { peer }, true],
    ["any namespace by two stars", from({ namespaces: ["**"] }), { peer }, true],
    ["any namespace, plaintext", from({ namespaces: ["*"] }), {}, false],
    ["no namespace, plaintext", from({ notNamespaces: ["*"] }), {}, true],
    ["no service account, plaintext", from({ notServiceAccounts: ["sleep"] }), {}, true],
    ["port 0", to({ ports: ["0"] }), { port: 0 }, true],
    ["an IPv6 address spelled otherwise", from({ ipBlocks: ["2001:DB8:0::1"] }), { from: "2001:db8::1" }, true],
    ["a block of mapped addresses", from({ ipBlocks: ["::ffff:10.0.0.0/104"] }), { from: "10.2.3.4" }, true],
    ["every address of a family", from({ ipBlocks: ["0.0.0.0/0"] }), { from: "::1" }, false],
    ["any host, even an empty one", to({ hosts: ["*"] }), { host: "" }, true],
    ["any host, of a request without one", to({ hosts: ["*"] }), { host: null }, false],
    ["not a host, of a request without one", to({ notHosts: ["*"] }), { host: null }, true],
    ["the host as a header, of none", when("request.headers[:authority]", { values: ["*"] }), { host: null }, false],
    ["the host as its old header, of none", when("request.headers[host]", { notValues: ["*"] }), { host: null }, true],
    ["the target `*` and every path", to({ paths: ["*"] }), { target: "*" }, true],
    ["the target `*` and every path by prefix", to({ paths: ["/*"] }), { target: "*" }, true],
    ["the target `*` and every path by template", to({ paths: ["/{**}"] }), { target: "*" }, true],
    ["the target `*` and no path", to({ notPaths: ["/*"] }), { target: "*" }, false],
    ["the target `*` and some paths", to({ paths: ["/", "/a*", "/{*}", "/a/{**}"] }), { target: "*" }, false],
    ["the target `*` as a header", when("request.headers[:path]", { values: ["/*"] }), { target: "*" }, true],
    ["a condition on the principal", when("source.principal", { values: [peer] }), { peer }, true],
    ["a condition on the namespace", when("source.namespace", { values: ["f*"] }), { peer }, true],
    ["a condition on the service account", when("source.serviceAccount", { values: ["sleep"] }), { peer }, true],
    ["a condition on the trust domain", when("source.trustDomain", { values: ["*.local"] }), { peer }, true],
    ["a condition on the port", when("destination.port", { values: ["8080"] }), { port: 8080 }, true],
    ["a condition on the peer's address", when("source.ip", { values: ["10.0.0.0/8"] }), { from: "10.1.1.1" }, true],
    [
      "a condition on the client's address",
      when("remote.ip", { notValues: ["8.8.8.8"] }),
      { remote: "8.8.8.8" },
      false,
    ],
    [
      "a condition on the request principal",
      when("request.auth.principal", { values: ["i/*"] }),
      { claims: { iss: "i", sub: "s" } },
      true,
    ],
    ["a presenter without token", when("request.auth.presenter", { notValues: ["app"] }), {}, true],
    ["a header that is not there", when("request.headers[x]", { notValues: ["v"] }), {}, true],
    ["the target as a header", when("request.headers[:path]", { values: ["/a?b"] }), { target: "/a?b" }, true],
    [
      "a header in any case",
      when("request.headers[User-Agent]", { values: ["curl*"] }),
      { headers: { "user-agent": ["curl/8"] } },
      true,
    ],
  ])("%s", (_, rule, asked, expected) => {
    expect(matches(rule, asked)).toBe(expected)
  })
})

describe("claims", () => {
  const claims = {
    s: "x",
    list: ["a", "b"],
    mixed: [1, "b"],
    empty: "",
    emptyList: [],
    blank: [""],
    nested: [[1], { a: 1 }, null],
    n: 1,
    d: 1.5,
    minus: -7,
    huge: Number.POSITIVE_INFINITY,
    t: true,
    f: false,
    z: null,
    o: { p: { q: "deep" } },
    "example.com/x": "slashed",
    "a[b]c": "odd",
  }
  test.each<[string, string, boolean]>([
    ["s", "x", true],
    ["list", "b", true],
    ["list", "c", false],
    ["mixed", "b", true],
    ["mixed", "1", true],
    ["mixed", "*", true],
    ["nested", "1", false],
    ["nested", "*", false],
    ["empty", "*", false],
    ["emptyList", "*", false],
    ["blank", "*", false],
    ["list", "*", true],
    ["list][0", "a", false],
    ["list][length", "*", false],
    ["n", "1", true],
    ["n", "1.0", false],
    ["n", "*", true],
    ["d", "1.5", true],
    ["d", "1*", true],
    ["minus", "-7", true],
    ["huge", "null", false],
    ["t", "true", true],
    ["t", "tr*", true],
    ["t", "false", false],
    ["f", "false", true],
    ["f", "*", true],
    ["z", "null", false],
    ["z", "*", false],
    ["o", "*", false],
    ["o][p][q", "deep", true],
    ["o][p", "*", false],
    ["o][p][q][r", "*", false],
    ["example.com/x", "slashed", true],
    ["a[b]c", "odd", true],
    ["constructor", "*", false],
    ["__proto__", "*", false],
    ["missing", "*", false],
  ])("[%s] and %s: %s", (name, value, expected) => {
    expect(matches(when(`request.auth.claims[${name}]`, { values: [value] }), { claims })).toBe(expected)
  })

  it("has none without a token", () => {
    expect(matches(when("request.auth.claims[s]", { values: ["*"] }), {})).toBe(false)
  })
})

describe("request principals", () => {
  const a = "https://a.com"
  test.each<[string, string, string, boolean]>([
    ["*", "i", "s", true],
    ["*", "", "s", false],
    ["*", "i", "", false],
    ["i/s", "i", "s", true],
    ["i/s", "i", "t", false],
    ["i/*", "i", "s", true],
    ["i/*", "i", "", false],
    ["i/*", "j", "s", false],
    ["i/s*", "i", "sub", true],
    ["i/s*", "i", "us", false],
    ["*/s", "any", "s", true],
    ["*/s", "", "s", false],
    ["*x/s", "aax", "s", true],
    ["*x/s", "xaa", "s", false],
    ["*x", "i", "aax", true],
    ["*x", "i", "xaa", false],
    ["x*", "xaa", "s", true],
    ["x*", "aax", "s", false],
    ["x", "x", "", true],
    ["x", "x", "s", false],
    [`${a}/*`, a, "s", true],
    [`${a}/*`, `${a}/b`, "s", false],
    ["*x/*", "aax", "*", true],
    ["*x/*", "aax", "s", false],
    ["i/a/b", "i/a", "b", true],
    ["i/a/b", "i", "a/b", false],
  ])("%s of issuer %s and subject %s: %s", (pattern, iss, sub, expected) => {
    expect(matches(from({ requestPrincipals: [pattern] }), { claims: { iss, sub } })).toBe(expected)
  })

  // The issuers that the workload's RequestAuthentications name determine where the issuer of an entry ends.
  const i = "https://i.example"
  test.each<[string, readonly string[], string, string, boolean]>([
    [`${i}/${i}`, [i], i, i, true],
    [`${i}/${i}`, [i], `${i}/https:/`, "i.example", false],
    [`${i}/${i}`, [], i, i, false],
    [`${i}/${i}`, ["https://other.example"], `${i}/https:/`, "i.example", true],
    [`${i}/a/b`, [i], i, "a/b", true],
    [`${i}/a/b`, [i], `${i}/a`, "b", false],
    [`${i}/a/b`, [i, `${i}/a`], `${i}/a`, "b", true],
    [`${i}/a/b`, [i, `${i}/a`], i, "a/b", false],
    [`${i}/a/b`, [`${i}/`], i, "a/b", false],
    [`${i}//b`, [`${i}/`], `${i}/`, "b", true],
    [`${i}//b`, [i], i, "/b", true],
    [`${i}/`, [i], i, "", true],
    [`${i}/`, [i], i, "x", false],
    ["/b", [""], "", "b", true],
    [i, [i], i, "", false],
    ["i", ["i"], "i", "", true],
    [`${i}/a/*`, [i], i, "a/b", false],
    [`${i}/a/*`, [i], `${i}/a`, "b", true],
    ["*/a/b", [i], i, "a/b", false],
    ["a*c/b/d", ["a*c"], "a*c", "b/d", true],
  ])("%s, with the issuers %j named, of issuer %s and subject %s: %s", (pattern, issuers, iss, sub, expected) => {
    const claims = { iss, sub }
    expect(matches(from({ requestPrincipals: [pattern] }), { claims }, issuers)).toBe(expected)
    expect(matches(when("request.auth.principal", { values: [pattern] }), { claims }, issuers)).toBe(expected)
    expect(matches(from({ notRequestPrincipals: [pattern] }), { claims }, issuers)).toBe(!expected)
  })

  it("needs both claims to be strings", () => {
    expect(matches(from({ requestPrincipals: ["*"] }), { claims: { iss: "i" } })).toBe(false)
    expect(matches(from({ requestPrincipals: ["*"] }), { claims: { iss: "i", sub: 7 } })).toBe(false)
  })
})

describe("path templates", () => {
  test.each<[string, string, boolean]>([
    ["/foo/{*}", "/foo/bar", true],
    ["/foo/{*}", "/foo/bar/baz", false],
    ["/foo/{*}", "/foo/", false],
    ["/foo/{*}", "/foo", false],
    ["/foo/{**}/", "/foo/bar/", true],
    ["/foo/{**}/", "/foo/bar/baz.txt/", true],
    ["/foo/{**}/", "/foo//", true],
    ["/foo/{**}/", "/foo/bar", false],
    ["/foo/{**}/", "/foo/", false],
    ["/allow/admin/{**}", "/allow/admin/", true],
    ["/allow/admin/{**}", "/allow/admin/x/y.txt", true],
    ["/allow/admin/{**}", "/allow/admin", false],
    ["/allow/admin/{**}", "/allow/user/", false],
    ["/foo/{*}/bar/{**}", "/foo/buzz/bar/", true],
    ["/foo/{*}/bar/{**}", "/foo/buzz/bar/bat/f.txt", true],
    ["/foo/{*}/bar/{**}", "/foo/bar/bat.txt", false],
    ["/foo/{*}/bar/{**}", "/foo//bar/bat.txt", false],
    ["/store/{**}/cart", "/store//cart", true],
    ["/store/{**}/cart", "/store/a/b/cart", true],
    ["/store/{**}/cart", "/store/cart", false],
    ["/{*}", "/a|b", true],
    ["/{**}", "/a/%C3%A4", true],
    ["/admin/{**}", "/admin/[x", true],
    ["/admin/{**}", '/admin/"^x/|', true],
    ["/admin/{*}/x", "/admin/[^|]/x", true],
    ["/admin/{**}/x", "/admin/{y}/x", true],
    ["/admin/{*}", "/admin/%E4%B8%AD", true],
    ["/{*}/", "/a/", true],
  ])("%s and %s: %s", (template, target, expected) => {
    // `BASE` keeps empty segments, which `{**}` matches.
    expect(matches(to({ paths: [template] }), { target }, [], meshConfig({ pathNormalization: "BASE" }))).toBe(expected)
  })
})

describe("text beyond ASCII in a header", () => {
  const bytes = Buffer.from("Zoë 中").toString("latin1")
  const decided = (value: string, line = bytes) =>
    matches(when("request.headers[x-user]", { values: [value] }), { headers: { "x-user": [line] } })

  it.each(["Zoë 中", "Zoë*", "*中", "Z*"])("is compared as UTF-8: %s", value => {
    expect(decided(value)).toBe(true)
  })

  it.each(["Zo\u00c3\u00ab*", "Zoe*", "*文"])("is not confused with another text: %s", value => {
    expect(decided(value)).toBe(false)
  })

  it("does not match half of a character, or another encoding", () => {
    expect(decided("Zoë", "Zo\xeb")).toBe(false)
    expect(decided("*\u00ab", "Zo\xc3\xab")).toBe(false)
  })
})
