// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { AuthorizationPolicySpec, Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PeerAuthentication, PolicyDocument } from "../../resources/document.js"
import { reachOf } from "./reach.js"

const apiVersion = "security.merlon.dev/v1alpha3"
const policy = (name: string, spec: AuthorizationPolicySpec): AuthorizationPolicy => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
})
const strict: PeerAuthentication = {
  apiVersion,
  kind: "PeerAuthentication",
  metadata: { name: "m", namespace: "foo" },
  spec: { mtls: { mode: "STRICT" } },
}
const workload = { namespace: "foo", name: "web", labels: {} }
const resultOf = (documents: readonly PolicyDocument[], asked: Rule) => {
  const { ways, undecided } = reachOf(documents, workload, meshConfig(), asked, { now: 1_000 })
  expect(undecided).toBeUndefined()
  return ways.map(({ callers, requests, limits }) => [`${requests} from ${callers}`, ...limits].join(", "))
}
const get = (path: string): Rule => ({ to: [{ operation: { methods: ["GET"], paths: [path] } }] })

const readers = policy("readers", {
  rules: [
    { from: [{ source: { namespaces: ["app", "ops"] } }], to: [{ operation: { methods: ["GET"] } }] },
    { from: [{ source: { principals: ["cluster.local/ns/app/sa/a"] } }], to: [{ operation: { paths: ["/a", "/b"] } }] },
  ],
})
const noOps = policy("no-ops", {
  action: "DENY",
  rules: [{ from: [{ source: { namespaces: ["ops"] } }], to: [{ operation: { paths: ["/a"] } }] }],
})

describe("a path in the spelling that a client sends", () => {
  it.each(["//a", "/x/../a", "/%61", "/a?q=1", "/./a", "/\\a"])("%s is normalised", path => {
    expect(resultOf([readers], get(path))).toEqual(resultOf([readers], get("/a")))
    expect(resultOf([readers], get(path))).not.toEqual([])
  })

  it.each([
    ["//a/*", "/a/*"],
    ["/x/..//a*", "/a*"],
  ])("%s covers what %s does", (path, plain) => {
    expect(resultOf([readers], get(path))).toEqual(resultOf([readers], get(plain)))
    expect(resultOf([readers], get(path))).not.toEqual([])
  })

  it("keeps a last segment that begins with a dot", () => {
    expect(resultOf([readers], get("/.*"))).not.toEqual(resultOf([readers], get("/*")))
  })
})

describe("who can", () => {
  it("is any caller, without conditions", () => {
    expect(resultOf([], get("/a"))).toEqual(["any request from any caller"])
  })

  it("are the callers of each rule, without those that other rules exclude", () => {
    expect(resultOf([readers, noOps], get("/a"))).toEqual([
      "GET from namespace app",
      "/a from cluster.local/ns/app/sa/a",
    ])
    expect(resultOf([readers], { to: [{ operation: { methods: ["POST"], paths: ["/c"] } }] })).toEqual([])
  })

  it("are only callers with an identity, in STRICT mode", () => {
    expect(resultOf([strict], get("/a"))).toEqual(["any request from any caller, over mutual TLS"])
  })
})

it("reports what an identity can reach", () => {
  const asks = (principal: string): Rule => ({ from: [{ source: { principals: [principal] } }] })
  expect(resultOf([readers, noOps], asks("cluster.local/ns/ops/sa/x"))).toEqual([
    "GET from namespace ops, except what rule 0 of `foo/no-ops` matches",
  ])
  expect(resultOf([readers], asks("cluster.local/ns/else/sa/x"))).toEqual([])
})

it("shows no example that the question does not ask for", () => {
  const admin: Rule = { when: [{ key: "request.headers[:path]", values: ["/admin"] }] }
  const more: Rule = { when: [{ key: "request.headers[:path]", values: ["/admin", "/staff"] }] }
  const denied = policy("no", { action: "DENY", rules: [more] })
  const { ways, undecided } = reachOf([denied], workload, meshConfig(), admin, { now: 1_000 })
  expect([ways, undecided !== undefined]).toEqual([[], true])
})
