// SPDX-License-Identifier: Apache-2.0
// Subject and resource searches of AuthZEN over real sockets: a list has exactly what evaluations allow, or the search
// fails.

import type { PolicyDocument } from "@merlon/policy/resources"
import fc from "fast-check"
import { afterEach, describe, expect, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import type { TrustedStatement } from "./gateway-trust.js"
import { startAuthorizer } from "./testing/start-authorizer.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const id = (name: string, domain = "cluster.local") => `spiffe://${domain}/ns/shop/sa/${name}`
const principal = (name: string) => `cluster.local/ns/shop/sa/${name}`
const HOST = { host: "shop.example" }

async function start(policies: readonly PolicyDocument[], peer: TrustedStatement = "subject", aliases: string[] = []) {
  const trust = { gateways: ["127.0.0.1"], authzen: true, peer }
  const authorizer = await startAuthorizer({ trust, policies, mesh: { trustDomainAliases: aliases } })
  cleanups.push(() => authorizer.path.drain())
  const call = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${authorizer.port}/access/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    return response.status === 200 ? JSON.parse(text) : { status: response.status, text }
  }
  return {
    call,
    subjects: (path: string, more: object = {}) =>
      call("search/subject", {
        subject: { type: "workload" },
        action: { name: "GET" },
        resource: { type: "http", id: path, properties: HOST },
        ...more,
      }),
    resources: (subject: object, more: object = {}) =>
      call("search/resource", {
        subject,
        action: { name: "GET" },
        resource: { type: "http", properties: HOST },
        ...more,
      }),
    isAllowed: async (subject: object, path: string) => {
      const resource = { type: "http", id: path, properties: HOST }
      return (await call("evaluation", { subject, action: { name: "GET" }, resource })).decision
    },
  }
}

const workload = (name: string) => ({ type: "workload", id: id(name) })
const idsIn = ({ results }: { results: { id: string }[] }) => results.map(({ id }) => id)

const ALLOWED = authorization("allowed", {
  rules: [
    {
      from: [{ source: { principals: [principal("cart"), principal("web")] } }],
      to: [{ operation: { paths: ["/orders", "/cart"], methods: ["GET"] } }],
    },
    { from: [{ source: { serviceAccounts: ["auditor"] } }], to: [{ operation: { paths: ["/audit"] } }] },
    { to: [{ operation: { paths: ["/public/*"] } }] },
  ],
})
const DENIED = authorization("denied", {
  action: "DENY",
  rules: [{ from: [{ source: { principals: [principal("web")] } }], to: [{ operation: { paths: ["/cart"] } }] }],
})

describe("a subject search", () => {
  it("lists exactly the workloads that are allowed", async () => {
    const { subjects } = await start([ALLOWED, DENIED])
    expect(await subjects("/orders")).toEqual({
      results: [
        { type: "workload", id: id("cart") },
        { type: "workload", id: id("web") },
      ],
      page: { next_token: "", count: 2 },
    })
    expect(idsIn(await subjects("/cart"))).toEqual([id("cart")])
    expect(idsIn(await subjects("/audit"))).toEqual([id("auditor")])
    expect(idsIn(await subjects("/none"))).toEqual([])
    expect(idsIn(await subjects("/orders", { action: { name: "POST" } }))).toEqual([])
  })

  it("lists workloads under every alias of the trust domain", async () => {
    const { subjects } = await start([ALLOWED], "subject", ["old.local"])
    expect(idsIn(await subjects("/orders"))).toEqual([
      ...[id("cart"), id("web")],
      ...[id("cart", "old.local"), id("web", "old.local")],
    ])
  })

  it("fails if policies allow callers that they do not name", async () => {
    const { subjects } = await start([ALLOWED])
    expect(await subjects("/public/a")).toEqual({
      status: 501,
      text: expect.stringMatching(
        /^cannot list: policies may allow callers that they do not name, such as `spiffe:\/\//,
      ),
    })
    const { subjects: open } = await start([DENIED])
    expect(await open("/orders")).toMatchObject({ status: 501 })
  })

  it("finds nothing of an unknown type, and only the anonymous caller of its type", async () => {
    const { subjects } = await start([ALLOWED])
    expect(await subjects("/public/a", { subject: { type: "spaceship" } })).toEqual({
      results: [],
      page: { next_token: "", count: 0 },
    })
    expect(idsIn(await subjects("/public/a", { subject: { type: "anonymous", id: "ignored" } }))).toEqual([""])
    expect(idsIn(await subjects("/orders", { subject: { type: "anonymous" } }))).toEqual([])
  })

  it("finds no workloads if their identities are not trusted", async () => {
    const { subjects, isAllowed } = await start([ALLOWED], { header: "x-cert" })
    expect([await isAllowed(workload("cart"), "/orders"), idsIn(await subjects("/orders"))]).toEqual([false, []])
  })

  it("returns pages", async () => {
    const names = Array.from({ length: 7 }, (_, index) => `w${index}`)
    const rules = [{ from: [{ source: { principals: names.map(principal) } }] }]
    const gone = [{ from: [{ source: { principals: [principal("w3")] } }] }]
    const { subjects } = await start([
      authorization("many", { rules }),
      authorization("gone", { action: "DENY", rules: gone }),
    ])
    const seen: string[] = []
    let token = ""
    let pages = 0
    do {
      const answer = await subjects("/a", { page: { limit: 3, ...(token !== "" && { token }) } })
      seen.push(...idsIn(answer))
      token = answer.page.next_token
      pages++
    } while (token !== "")
    expect([pages, seen]).toEqual([3, names.filter(name => name !== "w3").map(name => id(name))])
  })

  it.each<[string, object]>([
    ["no type", { subject: {} }],
    ["no subject", { subject: undefined }],
    ["no action", { action: undefined }],
    ["no resource", { resource: undefined }],
    ["a resource without an id", { resource: { type: "http", properties: HOST } }],
    ["a page that is a list", { page: [] }],
    ["a limit of 0", { page: { limit: 0 } }],
    ["an invalid page token", { page: { token: "a b" } }],
    ["headers that are a list", { context: { headers: [] } }],
  ])("with %s is malformed", async (_, more) => {
    expect(await (await start([ALLOWED])).subjects("/orders", more)).toMatchObject({ status: 400 })
  })
})

describe("a resource search", () => {
  it("lists exactly the paths that are allowed", async () => {
    const { resources } = await start([ALLOWED, DENIED].map(withoutPublic))
    expect(await resources(workload("cart"))).toEqual({
      results: [
        { type: "http", id: "/cart", properties: HOST },
        { type: "http", id: "/orders", properties: HOST },
      ],
      page: { next_token: "", count: 2 },
    })
    expect(idsIn(await resources(workload("web")))).toEqual(["/orders"])
    expect(idsIn(await resources(workload("stranger")))).toEqual([])
    expect(idsIn(await resources({ type: "anonymous", id: "" }))).toEqual([])
  })

  it("fails if policies allow paths that they do not name", async () => {
    const { resources } = await start([ALLOWED, DENIED])
    expect(await resources(workload("cart"))).toEqual({
      status: 501,
      text: expect.stringMatching(/^cannot list: policies may allow paths that they do not name, such as `\/public\//),
    })
  })

  it("is malformed without a host, and finds nothing of another type", async () => {
    const { resources } = await start([ALLOWED])
    expect(await resources(workload("cart"), { resource: { type: "http" } })).toMatchObject({ status: 400 })
    expect(idsIn(await resources(workload("cart"), { resource: { type: "account" } }))).toEqual([])
  })
})

function withoutPublic(document: PolicyDocument): PolicyDocument {
  if (document.kind !== "AuthorizationPolicy") return document
  const rules = document.spec.rules?.filter(({ from }) => from !== undefined) ?? []
  return { ...document, spec: { ...document.spec, rules } }
}

it("lists exactly what evaluations allow, for any policies", async () => {
  const NAMES = ["cart", "web", "mail"]
  const PATHS = ["/a", "/b", "/c"]
  const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 1 })
  const rule = fc.record(
    {
      from: some(NAMES.map(principal)).map(principals => [{ source: { principals } }]),
      to: some([...PATHS, "/*", "/a*"]).map(paths => [{ operation: { paths } }]),
    },
    { requiredKeys: [] },
  )
  const policies = fc.array(
    fc.record({
      action: fc.constantFrom("ALLOW", "ALLOW", "DENY"),
      rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
    }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  const outcomes = new Set<unknown>()
  await fc.assert(
    fc.asyncProperty(policies, fc.constantFrom(...PATHS), fc.constantFrom(...NAMES), async (specs, path, name) => {
      const documents = specs.map(
        (spec, index) => authorization(`p${index}`, spec as Parameters<typeof authorization>[1]), // generated in its shape
      )
      const { subjects, resources, isAllowed } = await start(documents)
      const allowed = async (pairs: readonly (readonly [string, string])[]) => {
        const each = await Promise.all(pairs.map(([who, where]) => isAllowed(workload(who), where)))
        return pairs.filter((_, at) => each[at])
      }
      const found = await subjects(path)
      outcomes.add(found.status)
      const callers = (await allowed([...NAMES, "stranger"].map(who => [who, path] as const))).map(([who]) => id(who))
      if (found.status === undefined) expect(idsIn(found)).toEqual(callers.sort())
      else expect(callers).toContain(id("stranger"))
      const there = await resources(workload(name))
      const paths = (await allowed([...PATHS, "/other", "/another"].map(where => [name, where] as const))).map(
        ([, where]) => where,
      )
      if (there.status === undefined) expect(idsIn(there)).toEqual(paths)
      else expect(paths.some(where => !PATHS.includes(where))).toBe(true)
    }),
    { numRuns: 25 },
  )
  expect(outcomes).toEqual(new Set([undefined, 501]))
})
