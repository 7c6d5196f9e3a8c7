// SPDX-License-Identifier: Apache-2.0
import { keySetId } from "@merlon/policy/tokens"
import { resourceNames } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { policyOf, viewsStage } from "./testing/views-stage.js"

const AP = "AuthorizationPolicy"
const RA = "RequestAuthentication"
const PA = "PeerAuthentication"
const ROOT = "merlon-system"
const web = { app: "web" }
const forWeb = { selector: { matchLabels: web } }

describe("a view", () => {
  it("exists only for a workload with a proxy", () => {
    const { registry, views, settle } = viewsStage()
    registry.setPod(podOf("foo/a"))
    registry.setPod(podOf("foo/b", { proxied: false }))
    settle()
    expect([...(views.get("foo/a")?.resources.keys() ?? [])]).toEqual(["workload", "trust"])
    expect(views.get("foo/b")).toBeUndefined()
  })

  it("has the policies of its own and the root namespace that select the workload", () => {
    const { policies, registry, settle, namesOf } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    policies.set(AP, policyOf(AP, "foo/own", forWeb))
    policies.set(AP, policyOf(AP, "foo/other", { selector: { matchLabels: { app: "db" } } }))
    policies.set(AP, policyOf(AP, "bar/elsewhere", {}))
    policies.set(RA, policyOf(RA, `${ROOT}/mesh-selected`, forWeb))
    policies.set(PA, policyOf(PA, `${ROOT}/mesh`, { mtls: { mode: "STRICT" } }))
    policies.set(PA, policyOf(PA, `${ROOT}/ignored`, forWeb))
    policies.set(PA, policyOf(PA, "foo/namespace", {}))
    policies.set(PA, policyOf(PA, "foo/workload", forWeb))
    policies.set(PA, policyOf(PA, "foo/superseded", forWeb))
    settle()
    expect(namesOf("foo/a")).toEqual([
      "policy/AuthorizationPolicy/foo/own",
      "policy/PeerAuthentication/foo/namespace",
      "policy/PeerAuthentication/foo/superseded",
      "policy/PeerAuthentication/foo/workload",
      `policy/PeerAuthentication/${ROOT}/mesh`,
      `policy/RequestAuthentication/${ROOT}/mesh-selected`,
      "trust",
      "workload",
    ])
  })

  it("has the keys of rules without inline keys, once they are fetched", () => {
    const { policies, registry, views, keySets, settle, namesOf } = viewsStage()
    const remote = { issuer: "https://a.example", jwksUri: "https://a.example/keys" }
    const inline = { issuer: "b", jwks: JSON.stringify({ keys: [] }) }
    registry.setPod(podOf("foo/a", { labels: web }))
    registry.setPod(podOf("foo/b"))
    policies.set(RA, policyOf(RA, "foo/tokens", { ...forWeb, jwtRules: [remote] }))
    settle()
    expect(keySets.needed.at(-1)).toEqual([keySetId(remote)])
    expect(namesOf("foo/a")).toEqual(["policy/RequestAuthentication/foo/tokens", "trust", "workload"])
    const other = views.get("foo/b")
    keySets.set(keySetId(remote), "{}")
    keySets.set(keySetId(inline), "{}")
    settle()
    expect(namesOf("foo/a")).toContain(resourceNames.keySet(keySetId(remote)))
    expect(views.get("foo/b")).toBe(other)
    policies.delete(RA, "foo", "tokens")
    settle()
    expect(keySets.needed.at(-1)).toEqual([])
    expect(namesOf("foo/a")).toEqual(["trust", "workload"])
  })

  it("does not exist before everything stored has been read", () => {
    const { policies, registry, views, settle, changes } = viewsStage({ begin: false })
    registry.setPod(podOf("foo/a"))
    settle()
    expect(views.get("foo/a")).toBeUndefined()
    policies.set(AP, policyOf(AP, "foo/deny", {}))
    settle()
    expect(views.get("foo/a")).toBeUndefined()
    views.begin()
    expect(changes).toEqual([["foo/a"]])
    expect([...(views.get("foo/a")?.resources.keys() ?? [])]).toContain("policy/AuthorizationPolicy/foo/deny")
  })
})

describe("a change", () => {
  it("that does not affect proxies sends nothing", () => {
    const { policies, registry, views, settle, changes, encoded } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    const policy = policyOf(AP, "foo/p", forWeb)
    policies.set(AP, policy)
    settle()
    const view = views.get("foo/a")
    changes.length = 0
    encoded.length = 0
    const metadata = { ...policy.metadata, resourceVersion: "9", labels: { a: "b" }, annotations: { note: "x" } }
    policies.set(AP, { ...policy, metadata, status: { conditions: [] } })
    registry.setPod(podOf("foo/a", { labels: web, status: { phase: "Pending" } }))
    settle()
    expect(changes).toEqual([])
    expect(encoded).toEqual([])
    expect(views.get("foo/a")).toBe(view)
  })

  it("of the dry-run annotation is sent", () => {
    const { policies, registry, views, settle } = viewsStage()
    registry.setPod(podOf("foo/a"))
    const version = () => views.get("foo/a")?.resources.get("policy/AuthorizationPolicy/foo/p")?.version
    policies.set(AP, policyOf(AP, "foo/p", {}))
    settle()
    const before = version()
    policies.set(AP, policyOf(AP, "foo/p", {}, { annotations: { "merlon.dev/dry-run": "true" } }))
    settle()
    expect(version()).toMatch(/^[0-9a-f]{16}$/)
    expect(version()).not.toBe(before)
  })

  it("of a selector reaches the workloads selected before and after", () => {
    const { policies, registry, views, settle, changes } = viewsStage()
    for (const app of ["web", "db", "cache"]) registry.setPod(podOf(`foo/${app}`, { labels: { app } }))
    policies.set(AP, policyOf(AP, "foo/p", forWeb))
    settle()
    changes.length = 0
    policies.set(AP, policyOf(AP, "foo/p", { selector: { matchLabels: { app: "db" } } }, { generation: 2 }))
    settle()
    expect(changes).toEqual([["foo/db", "foo/web"]])
    expect([...views.selectedBy(AP, "foo", "p")]).toEqual(["foo/db"])
  })

  it("of a Service reaches the workloads whose ports it changes", () => {
    const { registry, settle, changes } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web, ports: [{ containerPort: 80 }] }))
    registry.setPod(podOf("foo/b", { labels: { app: "db" }, ports: [{ containerPort: 80 }] }))
    settle()
    changes.length = 0
    registry.setService(serviceOf("foo/web", web, [{ port: 80, name: "http" }]))
    settle()
    expect(changes).toEqual([["foo/a"]])
  })

  it("of a Pod's upgrades reaches its proxy", () => {
    const { registry, encoded, settle, changes } = viewsStage()
    const ports = [{ containerPort: 80 }]
    registry.setPod(podOf("foo/a", { ports }))
    settle()
    changes.length = 0
    registry.setPod(podOf("foo/a", { ports, annotations: { "inbound.merlon.dev/upgrades": "80=custom" } }))
    settle()
    expect(changes).toEqual([["foo/a"]])
    expect(encoded.at(-1)).toMatchObject({
      kind: "workload",
      workload: { ports: [{ port: 80, upgrades: ["custom"] }] },
    })
  })

  it("of trust reaches every proxy, and unchanged trust reaches none", () => {
    const { registry, trust, settle, changes } = viewsStage()
    registry.setPod(podOf("foo/a"))
    registry.setPod(podOf("bar/b"))
    settle()
    changes.length = 0
    trust.set({ bundle: "root-2" })
    settle()
    trust.set({ revokedSerials: [] })
    settle()
    expect(changes).toEqual([["bar/b", "foo/a"]])
  })

  it("makes one revision per burst, and revisions increase across a restart", () => {
    const first = viewsStage()
    first.registry.setPod(podOf("foo/a"))
    first.registry.setPod(podOf("foo/b"))
    first.settle()
    const revision = first.views.get("foo/a")?.revision ?? 0
    expect(first.views.get("foo/b")?.revision).toBe(revision)
    first.policies.set(AP, policyOf(AP, "foo/p", {}))
    first.settle()
    // First the wall clock stands still, then it goes back.
    expect(first.views.get("foo/a")?.revision).toBe(revision + 1)
    first.time.now -= 1_000
    first.policies.delete(AP, "foo", "p")
    first.settle()
    expect(first.views.get("foo/a")?.revision).toBe(revision + 2)
    const second = viewsStage()
    second.time.now += 60_000
    second.registry.setPod(podOf("foo/a"))
    second.settle()
    expect(second.views.get("foo/a")?.revision).toBeGreaterThan(revision + 2)
  })

  it("that removes a workload removes its view", () => {
    const { policies, registry, views, settle, changes } = viewsStage()
    registry.setPod(podOf("foo/a"))
    policies.set(AP, policyOf(AP, "foo/p", {}))
    settle()
    registry.deletePod("foo", "a")
    settle()
    expect(views.get("foo/a")).toBeUndefined()
    expect(changes.at(-1)).toEqual(["foo/a"])
    expect(views.selectedBy(AP, "foo", "p").size).toBe(0)
  })
})

describe("a document that cannot be read", () => {
  const broken = { selector: { matchLabels: web }, rulez: [] }

  it("is reported and replaced by the fallback policy if no readable version is known", () => {
    const { policies, registry, settle, namesOf, invalid, encoded } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    registry.setPod(podOf("foo/b"))
    policies.set(AP, policyOf(AP, "foo/p", { ...broken, action: "DENY" }))
    settle()
    expect(namesOf("foo/a")).toEqual(["policy/AuthorizationPolicy/foo/p", "trust", "workload"])
    expect(namesOf("foo/b")).toEqual(["trust", "workload"])
    expect(encoded).toContainEqual({
      kind: "policy",
      document: expect.objectContaining({
        spec: { selector: { matchLabels: web }, action: "DENY", rules: [{}] },
      }),
    })
    expect(invalid).toEqual(["AuthorizationPolicy/foo/p left out: spec.rulez"])
    policies.set(AP, policyOf(AP, "foo/p", forWeb, { generation: 2 }))
    settle()
    expect(encoded.at(-1)).toMatchObject({ document: { spec: forWeb } })
  })

  it("does not keep the fallback of an earlier unreadable version", () => {
    const { policies, registry, settle, namesOf } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    policies.set(AP, policyOf(AP, "foo/p", { selector: { matchLabels: { app: "db" } }, rulez: [] }))
    policies.set(AP, policyOf(AP, "foo/p", broken, { generation: 2 }))
    settle()
    expect(namesOf("foo/a")).toContain("policy/AuthorizationPolicy/foo/p")
  })

  it("leaves the last good version in effect", () => {
    const { policies, registry, views, settle, invalid, changes } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    policies.set(AP, policyOf(AP, "foo/p", forWeb))
    settle()
    const view = views.get("foo/a")
    changes.length = 0
    policies.set(AP, policyOf(AP, "foo/p", broken, { generation: 2 }))
    settle()
    expect(views.get("foo/a")).toBe(view)
    expect(invalid).toEqual(["AuthorizationPolicy/foo/p kept: spec.rulez"])
    policies.delete(AP, "foo", "p")
    settle()
    expect(changes).toEqual([["foo/a"]])
  })

  it("does not keep an earlier object of the same name in effect", () => {
    const { policies, registry, settle, encoded } = viewsStage()
    registry.setPod(podOf("foo/a", { labels: web }))
    policies.set(AP, policyOf(AP, "foo/p", forWeb))
    policies.set(AP, policyOf(AP, "foo/p", broken, { uid: "another" }))
    settle()
    const sent = encoded.filter(({ kind }) => kind === "policy")
    expect(sent.at(-1)).toMatchObject({ document: { metadata: { uid: "another" }, spec: { action: "ALLOW" } } })
  })

  it.each([null, 7, [], "x", { spec: null }])("does not crash the control plane if its spec is %j", spec => {
    const { policies, settle, invalid } = viewsStage()
    policies.set(AP, policyOf(AP, "foo/p", spec))
    settle()
    expect(invalid.length).toBe(spec === null ? 0 : 1)
  })
})

it("reports which policies select other workloads now, including those without a proxy", () => {
  const { policies, registry, views, settle } = viewsStage()
  const received: string[][] = []
  views.onSelectionChange(keys => received.push([...keys].sort()))
  policies.set(AP, policyOf(AP, "foo/p", forWeb))
  policies.set(AP, policyOf(AP, "foo/q", { selector: { matchLabels: { app: "db" } } }))
  settle()
  registry.setPod(podOf("foo/a", { labels: web, proxied: false }))
  settle()
  registry.setPod(podOf("foo/a", { labels: { app: "db" }, proxied: false }))
  settle()
  const [p, q] = ["AuthorizationPolicy/foo/p", "AuthorizationPolicy/foo/q"]
  expect(received).toEqual([[p, q], [p], [p, q]])
  expect([...views.selectedBy(AP, "foo", "q")]).toEqual(["foo/a"])
})

it("shares one encoding of a resource between views", () => {
  const { policies, registry, views, settle, encoded } = viewsStage()
  for (let i = 0; i < 10; i++) registry.setPod(podOf(`foo/w${i}`))
  policies.set(AP, policyOf(AP, "foo/p", {}))
  settle()
  expect(encoded.filter(({ kind }) => kind === "policy").length).toBe(1)
  const [a, b] = ["foo/w0", "foo/w9"].map(key => views.get(key)?.resources)
  expect(a?.get("policy/AuthorizationPolicy/foo/p")).toBe(b?.get("policy/AuthorizationPolicy/foo/p"))
  expect(a?.get("trust")).toBe(b?.get("trust"))
})

it("affects only the selected ones of 5,000 workloads when a policy changes", () => {
  const { policies, registry, views, settle, changes, encoded } = viewsStage()
  for (let i = 0; i < 5_000; i++) {
    registry.setPod(podOf(`ns-${i % 100}/w${i}`, { labels: { app: `app-${i % 1_000}`, version: `v${i % 2}` } }))
  }
  settle()
  changes.length = 0
  encoded.length = 0
  const before = new Map([...registry.workloads.keys()].map(key => [key, views.get(key)]))
  let looked = 0
  const select = registry.select.bind(registry)
  registry.select = function* (labels, namespace) {
    for (const workload of select(labels, namespace)) {
      looked++
      yield workload
    }
  }
  policies.set(AP, policyOf(AP, "ns-7/p", { selector: { matchLabels: { app: "app-107", version: "v1" } } }))
  settle()
  const expected = [107, 1_107, 2_107, 3_107, 4_107].map(i => `ns-7/w${i}`).sort()
  expect(changes).toEqual([expected])
  expect(encoded.length).toBe(1)
  expect(looked).toBe(expected.length)
  for (const [key, view] of before) if (!expected.includes(key)) expect(views.get(key)).toBe(view)
})
