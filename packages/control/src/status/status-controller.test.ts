// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { stored, workload } from "./testing/documents.js"
import { Stage } from "./testing/stage.js"

const allow = (name = "p", more: object = {}) => stored("AuthorizationPolicy", name, { rules: [{}] }, more)

async function staged(options: ConstructorParameters<typeof Stage>[0] = {}) {
  const stage = new Stage(options)
  await stage.settle()
  return stage
}

describe("a policy that is being rolled out", () => {
  it("is reported as enforced once every proxy acknowledges it", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"), workload("foo/b"), workload("foo/c", {}, false))
    stage.connect("foo/a")
    stage.apply(allow())
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "False Waiting: enforced by 0 of 2 proxies at generation 7; waiting for foo/a; not connected: foo/b",
    )
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "False NotConnected: enforced by 1 of 2 proxies at generation 7; not connected: foo/b",
    )
    stage.acknowledge("foo/b")
    await stage.settle()
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "True AllProxies: enforced by 2 of 2 proxies at generation 7",
    )
    expect(stage.received("AuthorizationPolicy", "foo/p", "MatchesWorkloads")).toBe(
      "True Selected: selects 3 workloads; 1 without an xserver, so not enforced there: foo/c",
    )
  })

  it("does not wait for a Pod until it starts or its proxy connects", async () => {
    const stage = await staged()
    const pending = { ...workload("foo/b"), started: false }
    stage.setWorkloads(workload("foo/a"), pending)
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "True AllProxies: enforced by 1 of 1 proxy at generation 7",
    )
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toMatch(/^True Ready/)
    stage.connect("foo/b")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toContain("enforced by 1 of 2 proxies")
    stage.acknowledge("foo/b")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toContain("enforced by 2 of 2 proxies")
    stage.disconnect("foo/b")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toContain("enforced by 1 of 1 proxy")
    await stage.clock.advance(10_000)
    stage.setWorkloads({ ...pending, started: true })
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toContain("not connected: foo/b")
  })

  it("ignores a report of another replica about an earlier Pod of the same name", async () => {
    const stage = await staged()
    stage.setWorkloads({ ...workload("foo/a"), uid: "old" })
    stage.apply(allow())
    stage.acknowledge("foo/a", "old")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toMatch(/^True/)
    await stage.clock.advance(10_000)
    stage.setWorkloads({ ...workload("foo/a"), uid: "new" })
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("not connected: foo/a")
    stage.acknowledge("foo/a", "new")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toMatch(/^True/)
  })

  it("is not ready while it selects a running Pod without a proxy", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"), workload("foo/c", {}, false))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toMatch(/^True AllProxies/)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toBe("False NoProxy: no xserver in front of foo/c")
  })

  it("is not enforced after a change until the new version is acknowledged", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    stage.apply(allow("p", { generation: 8 }))
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain(
      "False Waiting: enforced by 0 of 1 proxy at generation 8",
    )
    stage.acknowledge("foo/a")
    await stage.settle()
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "True AllProxies: enforced by 1 of 1 proxy at generation 8",
    )
  })

  it("is reported as enforced at once, however soon after another change", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    for (const generation of [7, 8, 9]) {
      stage.apply(allow("p", { generation }))
      await stage.settle()
      stage.acknowledge("foo/a")
      await stage.settle()
      expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
        `True AllProxies: enforced by 1 of 1 proxy at generation ${generation}`,
      )
    }
  })

  it("causes few writes, however many proxies acknowledge one by one", async () => {
    const stage = await staged()
    const keys = Array.from({ length: 1_000 }, (_, index) => `foo/w${index}`)
    stage.setWorkloads(...keys.map(key => workload(key)))
    for (const key of keys) stage.connect(key)
    stage.apply(allow())
    await stage.settle()
    const before = stage.statusWrites
    for (const key of keys) {
      stage.acknowledge(key)
      await stage.clock.advance(2)
    }
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "True AllProxies: enforced by 1000 of 1000 proxies at generation 7",
    )
    // Two seconds of counting, and the final count.
    expect(stage.statusWrites - before).toBeLessThanOrEqual(4)
    await stage.clock.advance(60_000)
    expect(stage.statusWrites - before).toBeLessThanOrEqual(4)
  })

  it("reports a proxy's rejection in its own words, with an Event", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    stage.apply(allow())
    stage.reject("foo/a", "rule 3 does not compile")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "False Rejected: enforced by 0 of 1 proxy at generation 7; `foo/a` rejected it: rule 3 does not compile",
    )
    stage.reject("foo/a", "rule 4 does not compile")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("rule 4 does not compile")
    expect(stage.events).toEqual(["ProxyRejected p"])
  })
})

describe("a policy for a gateway", () => {
  const labels = { "merlon.dev/gateway": "public" }
  const targetRefs = [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "public" }]
  const gateway = () => stored("AuthorizationPolicy", "p", { targetRefs, rules: [{}] })
  const NONE = "no authorizer in `foo` has the label `merlon.dev/gateway=public` of the Gateway public"

  it("is not enforced by a workload that only has the label", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/app", labels))
    stage.apply(gateway())
    stage.acknowledge("foo/app")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      `False NoAuthorizer: enforced by 1 of 1 proxy at generation 7; ${NONE}`,
    )
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toBe(`False TargetNotFound: ${NONE}`)
  })

  it("is enforced once every authorizer has it, and names those that do not", async () => {
    const stage = await staged()
    const authorizer = (key: string) => ({ ...workload(key, labels), enforcer: "authorizer" as const })
    stage.setWorkloads(authorizer("foo/gate-1"), authorizer("foo/gate-2"))
    stage.apply(gateway())
    stage.connect("foo/gate-1", { enforcer: "authorizer" })
    stage.acknowledge("foo/gate-1")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "False NotConnected: enforced by 1 of 2 authorizers at generation 7; not connected: foo/gate-2",
    )
    stage.connect("foo/gate-2", { enforcer: "authorizer" })
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "False Waiting: enforced by 1 of 2 authorizers at generation 7; waiting for foo/gate-2",
    )
    stage.acknowledge("foo/gate-2")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toBe(
      "True Ready: enforced by 2 of 2 authorizers at generation 7",
    )
  })

  it("is enforced by an authorizer outside Kubernetes that reports itself as one", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/gate-1", labels))
    stage.apply(gateway())
    stage.connect("foo/gate-1", { enforcer: "authorizer" })
    stage.acknowledge("foo/gate-1")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toBe(
      "True AllProxies: enforced by 1 of 1 authorizer at generation 7",
    )
  })
})

describe("a change only affects related statuses", () => {
  it("writes no unchanged status", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"), workload("bar/b"))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(60_000)
    const writes = stage.statusWrites
    stage.acknowledge("foo/a")
    stage.acknowledge("bar/b")
    stage.setWorkloads(workload("bar/c"))
    await stage.clock.advance(60_000)
    expect(stage.statusWrites).toBe(writes)
  })

  it("restores a status that another client overwrote", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(2_000)
    const object = stage.client.objects.get("authorizationpolicies/foo/p")
    if (object === undefined) throw new Error("the policy is gone")
    stage.apply({ ...object, status: { conditions: [{ type: "Enforced", status: "False" }, null, 5] } })
    await stage.clock.advance(2_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("True AllProxies")
  })

  it("follows a workload that gets or loses its xserver", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a", {}, false))
    stage.apply(allow())
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("False NoProxies")
    stage.setWorkloads(workload("foo/a"))
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("True AllProxies")
  })

  it("suggests the nearest labels also if the workload is added later", async () => {
    const stage = await staged()
    stage.apply(stored("AuthorizationPolicy", "p", { selector: { matchLabels: { app: "httpbin" } }, rules: [{}] }))
    await stage.clock.advance(1_000)
    stage.setWorkloads(workload("foo/a", { app: "htpbin" }))
    await stage.clock.advance(5_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "MatchesWorkloads")).toBe(
      "False NoWorkloads: no workload in `foo` has `app=httpbin`; the closest match has `app=htpbin` (`foo/a`)",
    )
  })
})

describe("each kind", () => {
  it("RequestAuthentication: enforced with its keys, with Events for failure and recovery", async () => {
    const stage = await staged()
    const rule = { issuer: "https://idp", jwksUri: "https://idp/keys" }
    stage.setWorkloads(workload("foo/a"))
    stage.apply(stored("RequestAuthentication", "jwt", { jwtRules: [rule] }))
    stage.acknowledge("foo/a")
    stage.setKeys(rule, { jwks: "one", keys: 1, fetchedAt: 0, nextFetchAt: 0 }, true)
    await stage.clock.advance(1_000)
    expect(stage.received("RequestAuthentication", "foo/jwt")).toContain("False Waiting")
    stage.acknowledge("foo/a")
    await stage.clock.advance(1_000)
    expect(stage.received("RequestAuthentication", "foo/jwt")).toContain("True AllProxies")
    expect(stage.received("RequestAuthentication", "foo/jwt", "JwksReady")).toContain(
      "True Ready: `https://idp`: 1 key",
    )
    stage.setKeys(rule, { error: "answered 500" }, false)
    await stage.clock.advance(1_000)
    expect(stage.received("RequestAuthentication", "foo/jwt", "JwksReady")).toContain("stay in force (answered 500;")
    stage.setKeys(rule, { error: undefined }, false)
    await stage.clock.advance(1_000)
    expect(stage.events).toEqual(["JwksFetchFailed jwt", "JwksRecovered jwt"])
  })

  it("RequestAuthentication: a refresh without changes is written from time to time", async () => {
    const stage = await staged()
    const rule = { issuer: "https://idp", jwksUri: "https://idp/keys" }
    stage.apply(stored("RequestAuthentication", "jwt", { jwtRules: [rule] }))
    stage.setKeys(rule, { jwks: "one", keys: 1 }, true)
    await stage.clock.advance(2_000)
    const writes = stage.statusWrites
    for (let minute = 0; minute < 20; minute++) {
      stage.setKeys(rule, { fetchedAt: stage.clock.now() }, false)
      await stage.clock.advance(60_000)
    }
    expect(stage.statusWrites - writes).toBeLessThanOrEqual(4)
  })

  it("PeerAuthentication: the newer one reports the older, until it is deleted", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    stage.apply(stored("PeerAuthentication", "young", {}, { creationTimestamp: "2026-02-01T00:00:00Z" }))
    await stage.clock.advance(1_000)
    stage.apply(stored("PeerAuthentication", "old", {}))
    await stage.clock.advance(2_000)
    expect(stage.received("PeerAuthentication", "foo/young", "Superseded")).toContain("`foo/old` applies instead")
    expect(stage.received("PeerAuthentication", "foo/old", "Superseded")).toContain("False InForce")
    expect(stage.events).toEqual(["Superseded young"])
    stage.remove("PeerAuthentication", "foo/old")
    await stage.clock.advance(2_000)
    expect(stage.received("PeerAuthentication", "foo/young", "Superseded")).toContain("False InForce")
  })

  it("MeshService: follows the Service behind its host", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a", { app: "web" }))
    stage.apply(stored("MeshService", "web", { hosts: ["web"] }))
    await stage.clock.advance(1_000)
    expect(stage.received("MeshService", "foo/web", "MatchesWorkloads")).toContain("no workload is behind `web`")
    const host = "web.foo.svc.cluster.local"
    stage.setService({ namespace: "foo", name: "web", host, selector: { app: "web" }, ports: [], addresses: [] })
    await stage.clock.advance(1_000)
    expect(stage.received("MeshService", "foo/web", "MatchesWorkloads")).toBe("True Selected: selects 1 workload")
  })

  it("MeshService: the newer one reports that an older one governs its host, until it is deleted", async () => {
    const stage = await staged()
    stage.apply(stored("MeshService", "young", { hosts: ["web"] }, { creationTimestamp: "2026-02-01T00:00:00Z" }))
    await stage.clock.advance(1_000)
    expect(stage.received("MeshService", "foo/young")).toContain("True NoClients")
    stage.apply(stored("MeshService", "old", { hosts: ["web.foo"] }))
    await stage.clock.advance(2_000)
    expect(stage.received("MeshService", "foo/young")).toContain("`foo/old` governs `web`")
    stage.remove("MeshService", "foo/old")
    await stage.clock.advance(2_000)
    expect(stage.received("MeshService", "foo/young")).toContain("True NoClients")
  })

  it("MeshService: counts its clients in few writes, and reports at once when all have it", async () => {
    const stage = await staged()
    stage.apply(stored("MeshService", "web", { hosts: ["web"] }))
    await stage.clock.advance(2_000)
    const before = stage.statusWrites
    for (let clients = 1; clients <= 500; clients++) {
      stage.setClients("foo/web", { clients, acknowledged: clients })
      await stage.clock.advance(2)
    }
    await stage.clock.advance(1_000)
    expect(stage.received("MeshService", "foo/web")).toContain("in use by 500 of 500 clients")
    expect(stage.statusWrites - before).toBeLessThanOrEqual(3)
    stage.setClients("foo/web", { clients: 500, acknowledged: 499, waiting: ["app/c"] })
    await stage.clock.advance(1_000)
    expect(stage.received("MeshService", "foo/web")).toContain("waiting for app/c")
    stage.setClients("foo/web", { clients: 500, acknowledged: 500 })
    await stage.settle()
    expect(stage.received("MeshService", "foo/web")).toContain("True AllClients")
  })

  it("an invalid document that was stored is reported", async () => {
    const stage = await staged()
    stage.apply(stored("AuthorizationPolicy", "p", { rulez: [] }))
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p", "Accepted")).toContain(
      "False Invalid: not valid: spec.rulez: unknown field `rulez`",
    )
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("False Invalid")
    expect(stage.events).toEqual(["InvalidStored p"])
  })
})

describe("the lease", () => {
  it("is needed to write; the new leader writes everything again", async () => {
    const stage = await staged()
    stage.leader = false
    stage.setWorkloads(workload("foo/a"))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(60_000)
    expect(stage.statusWrites).toBe(0)
    stage.leader = true
    stage.controller.leadershipChanged(true)
    await stage.settle()
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("True AllProxies")
  })

  it("gives proxies a moment to reconnect before their absence counts", async () => {
    const stage = await staged()
    stage.setWorkloads(workload("foo/a"))
    stage.apply(allow())
    stage.acknowledge("foo/a")
    await stage.clock.advance(60_000)
    stage.leader = false
    stage.controller.leadershipChanged(false)
    stage.disconnect("foo/a")
    stage.leader = true
    stage.controller.leadershipChanged(true)
    await stage.clock.advance(9_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("True AllProxies")
    await stage.clock.advance(1_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("False NotConnected")
  })

  it("does not recount everything for each proxy that reconnects", async () => {
    const stage = await staged()
    const keys = Array.from({ length: 30 }, (_, i) => `foo/${i}`)
    stage.setWorkloads(...keys.map(key => workload(key)))
    stage.apply(allow())
    for (const key of keys) stage.acknowledge(key)
    await stage.clock.advance(60_000)
    stage.leader = false
    stage.controller.leadershipChanged(false)
    for (const key of keys) stage.disconnect(key)
    stage.leader = true
    stage.controller.leadershipChanged(true)
    await stage.settle()
    const before = stage.selections
    for (const key of keys) {
      stage.acknowledge(key)
      await stage.clock.advance(100)
    }
    expect(stage.selections - before).toBeLessThanOrEqual(4)
    await stage.clock.advance(10_000)
    expect(stage.received("AuthorizationPolicy", "foo/p")).toContain("enforced by 30 of 30 proxies")
  })
})

it("never writes a status for a version from which it was not computed", async () => {
  const stage = await staged({ echo: false })
  stage.setWorkloads(workload("foo/a"))
  stage.apply(allow())
  const object = stage.client.objects.get("authorizationpolicies/foo/p")
  if (object === undefined) throw new Error("the policy is gone")
  stage.client.objects.set("authorizationpolicies/foo/p", {
    ...object,
    metadata: { ...object.metadata, generation: 8 },
  })
  await stage.clock.advance(1_000)
  expect(stage.received("AuthorizationPolicy", "foo/p")).toBe("nothing")
  expect(stage.warnings).toEqual([])
})

it("counts a workload without a proxy only if it is a member of the mesh", async () => {
  const stage = await staged()
  stage.outside.add("foo")
  stage.setWorkloads(workload("foo/a"), workload("foo/b", {}, false))
  stage.apply(allow())
  stage.acknowledge("foo/a")
  await stage.clock.advance(10_000)
  expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toMatch(/^True Ready/)
  stage.optIn("foo")
  await stage.clock.advance(10_000)
  expect(stage.received("AuthorizationPolicy", "foo/p", "Ready")).toBe("False NoProxy: no xserver in front of foo/b")
})
