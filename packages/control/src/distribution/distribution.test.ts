// SPDX-License-Identifier: Apache-2.0
import { PROXY_RESOURCE } from "@merlon/xds"
import type { Caller, Rejection, Subscriber } from "@merlon/xds/server"
import { describe, expect, it, test } from "vitest"
import { podOf } from "../registry/testing/objects.js"
import { AP, caller, certified, node, ROUTES, setUp, unbound } from "./testing/distribution-stage.js"

describe("a workload's resources", () => {
  test.each<[string, Caller, string]>([
    ["the Pod to which its token is bound", caller(), "foo/a"],
    ["the Pod for which its certificate was signed", certified(), "foo/a"],
  ])("go to %s", (_, who, id) => {
    const { distribution } = setUp()
    expect(distribution.mayWatch(who, node(id), PROXY_RESOURCE)).toBeUndefined()
  })

  test.each<[string, Caller, string, Rejection["code"], string]>([
    ["another pod than the token's", caller({ pod: "b" }), "foo/a", "PERMISSION_DENIED", "bound to the Pod `b`"],
    ["another namespace, bound", caller({ namespace: "bar" }), "foo/a", "PERMISSION_DENIED", "namespace `bar`"],
    ["another namespace", unbound({ namespace: "bar" }), "foo/a", "PERMISSION_DENIED", "namespace `bar`"],
    [
      "a sibling of the same service account",
      certified({ pod: "b" }),
      "foo/a",
      "PERMISSION_DENIED",
      "bound to the Pod",
    ],
    ["a service account alone, by certificate", unbound(), "foo/a", "PERMISSION_DENIED", "not bound to a Pod"],
    [
      "a service account alone, by token",
      { ...unbound(), proof: "token" },
      "foo/a",
      "PERMISSION_DENIED",
      "not bound to a Pod",
    ],
    ["a deleted pod of the same name", certified({ podUid: "old" }), "foo/a", "UNAVAILABLE", "another Pod"],
    ["the token of an earlier pod", caller({ podUid: "old" }), "foo/a", "UNAVAILABLE", "another Pod"],
    ["another service account, bound", caller({ pod: "other" }), "foo/other", "PERMISSION_DENIED", "service account"],
    ["another trust domain", caller({ trustDomain: "evil.td" }), "foo/a", "PERMISSION_DENIED", "`evil.td`"],
    ["a caller without an identity", caller({ serviceAccount: "a/b" }), "foo/a", "PERMISSION_DENIED", "no identity"],
    [
      "a certificate without a serial number",
      caller({ proof: "certificate" }),
      "foo/a",
      "PERMISSION_DENIED",
      "no serial",
    ],
    ["a pod without a proxy", caller({ pod: "bare" }), "foo/bare", "PERMISSION_DENIED", "no xserver"],
    ["an unknown pod", caller({ pod: "new" }), "foo/new", "UNAVAILABLE", "not known yet"],
    ["no pod at all", caller(), "a", "PERMISSION_DENIED", "`namespace/pod`"],
    ["an empty name", caller(), "", "PERMISSION_DENIED", "`namespace/pod`"],
    ["a path", caller(), "foo/../bar/a", "PERMISSION_DENIED", "`namespace/pod`"],
  ])("do not go to %s", (_, who, id, code, message) => {
    const { distribution } = setUp()
    expect(distribution.mayWatch(who, node(id), PROXY_RESOURCE)).toEqual({
      code,
      message: expect.stringContaining(message),
    })
  })

  it("do not go to a revoked caller", () => {
    const { distribution, trust } = setUp()
    trust.set({ revokedSerials: ["ABC1"] })
    expect(distribution.mayWatch(certified(), node(), PROXY_RESOURCE)).toMatchObject({ code: "PERMISSION_DENIED" })
    expect(distribution.open(certified(), node(), () => {})).toMatchObject({ code: "PERMISSION_DENIED" })
    expect(distribution.mayWatch(caller(), node(), PROXY_RESOURCE)).toBeUndefined()
    trust.set({ revokedIdentities: ["spiffe://cluster.local/ns/foo/sa/web"] })
    expect(distribution.open(caller(), node(), () => {})).toMatchObject({ code: "PERMISSION_DENIED" })
    expect(distribution.mayWatch(caller(), node(), ROUTES)).toMatchObject({ code: "PERMISSION_DENIED" })
    expect(distribution.reject(caller())).toMatchObject({ code: "PERMISSION_DENIED" })
    expect(distribution.reject(caller({ serviceAccount: "other" }))).toBeUndefined()
  })

  it("do not exist before the views do", () => {
    const { registry, distribution, settle } = setUp()
    registry.setPod(podOf("foo/late", { serviceAccount: "web" }))
    const late = caller({ pod: "late" })
    expect(distribution.mayWatch(late, node("foo/late"), PROXY_RESOURCE)).toMatchObject({ code: "UNAVAILABLE" })
    settle()
    expect(distribution.mayWatch(late, node("foo/late"), PROXY_RESOURCE)).toBeUndefined()
  })

  it("are the current view, and a change wakes only its own stream", () => {
    const { connect, apply, views, woken, registry, settle } = setUp()
    const subscriber = connect()
    expect(subscriber.snapshot(PROXY_RESOURCE)).toEqual(views.get("foo/a"))
    registry.setPod(podOf("foo/elsewhere"))
    settle()
    expect(woken).toEqual([])
    apply("p")
    expect(woken).toEqual([PROXY_RESOURCE])
    expect([...subscriber.snapshot(PROXY_RESOURCE).resources.keys()]).toContain("policy/AuthorizationPolicy/foo/p")
    subscriber.close()
    apply("q")
    expect(woken).toEqual([PROXY_RESOURCE])
  })

  it("are only those requested by name", () => {
    const { connect } = setUp()
    const subscriber = connect()
    subscriber.watch(PROXY_RESOURCE, new Set(["trust", "nothing"]))
    expect([...subscriber.snapshot(PROXY_RESOURCE).resources.keys()]).toEqual(["trust"])
    subscriber.watch(PROXY_RESOURCE, "*")
    expect(subscriber.snapshot(PROXY_RESOURCE).resources.size).toBe(2)
  })
})

describe("the last view stays", () => {
  test.each<[string, (stage: ReturnType<typeof setUp>) => void]>([
    ["the workload is deleted", ({ registry }) => registry.deletePod("foo", "a")],
    ["another workload has its name", ({ registry }) => registry.setPod(podOf("foo/a", { serviceAccount: "other" }))],
    [
      "its caller is revoked",
      ({ trust }) => trust.set({ revokedIdentities: ["spiffe://cluster.local/ns/foo/sa/web"] }),
    ],
  ])("if %s", (_, change) => {
    const stage = setUp()
    stage.apply("deny")
    const subscriber = stage.connect()
    const before = subscriber.snapshot(PROXY_RESOURCE)
    stage.woken.length = 0
    change(stage)
    stage.settle()
    stage.policies.delete(AP, "foo", "deny")
    stage.settle()
    expect(stage.woken).toEqual([])
    expect(subscriber.snapshot(PROXY_RESOURCE)).toBe(before)
    expect(before.resources.has("policy/AuthorizationPolicy/foo/deny")).toBe(true)
  })
})

it("sends a view that is deleted before it was first sent, not an empty one", () => {
  const { connect, registry, settle, views } = setUp()
  const subscriber = connect()
  const view = views.get("foo/a")
  registry.deletePod("foo", "a")
  settle()
  expect(subscriber.snapshot(PROXY_RESOURCE)).toEqual(view)
})

it("ends the stream of a caller without permission", () => {
  const { distribution, proxies } = setUp()
  const subscriber = distribution.open(caller({ pod: "b" }), node(), () => {}) as Subscriber
  expect(() => subscriber.watch(PROXY_RESOURCE, "*")).toThrow("without permission")
  expect(proxies.proxies.size).toBe(0)
})

it("ends the stream of a caller whose Pod is deleted", () => {
  const { distribution, registry } = setUp()
  expect(distribution.reject(caller())).toBeUndefined()
  expect(distribution.reject(certified())).toBeUndefined()
  expect(distribution.reject(certified({ podUid: "old" }))).toMatchObject({ code: "PERMISSION_DENIED" })
  expect(distribution.rejectCertificate(certified())).toBeUndefined()
  registry.deletePod("foo", "a")
  expect(distribution.reject(caller())).toMatchObject({ code: "PERMISSION_DENIED" })
  expect(distribution.reject(certified())).toMatchObject({ code: "PERMISSION_DENIED" })
  expect(distribution.rejectCertificate(certified())).toMatchObject({ code: "PERMISSION_DENIED" })
  expect(distribution.reject(unbound())).toBeUndefined()
})

it("does not renew a certificate of an account that no workload uses any more", () => {
  const { distribution, registry } = setUp()
  expect(distribution.rejectCertificate(unbound({ serviceAccount: "other" }))).toBeUndefined()
  registry.deletePod("foo", "other")
  const rejection = {
    code: "PERMISSION_DENIED",
    message: expect.stringContaining("no Pod uses the service account `foo/other`"),
  }
  expect(distribution.rejectCertificate(unbound({ serviceAccount: "other" }))).toEqual(rejection)
  expect(distribution.rejectCertificate(unbound({ namespace: "bar" }))).toMatchObject({ code: "PERMISSION_DENIED" })
  expect(distribution.rejectCertificate(caller({ serviceAccount: "other" }))).toBeUndefined()
})

test.each<[string, Caller, string, boolean]>([
  ["the pod of its token", caller(), "foo/a", true],
  ["the pod of its certificate", certified(), "foo/a", true],
  ["a pod of its service account", unbound(), "foo/a", false],
  ["a pod of another service account of its namespace", unbound(), "foo/other", false],
  ["a pod of another namespace", unbound({ namespace: "bar" }), "foo/a", false],
  ["another pod than its token's", caller({ pod: "b" }), "foo/a", false],
])("decides whether a caller may report for %s", (_, who, id, may) => {
  expect(setUp().distribution.mayReportFor(who, id)).toBe(may)
})

describe("routes", () => {
  it("go to every member of the mesh", () => {
    const { distribution, routes, woken } = setUp()
    const who = caller({ namespace: "elsewhere", serviceAccount: "guest" })
    expect(distribution.mayWatch(who, node("some envoy"), ROUTES)).toBeUndefined()
    expect(distribution.mayWatch(who, node("some envoy"), "type.googleapis.com/other")).toMatchObject({
      code: "INVALID_ARGUMENT",
    })
    const subscriber = distribution.open(who, node("some envoy"), typeUrl => woken.push(typeUrl)) as Subscriber
    subscriber.watch(ROUTES, new Set(["web"]))
    expect(subscriber.snapshot(ROUTES)?.revision).toBe(7)
    routes[0]?.wake()
    expect(woken).toEqual([ROUTES])
    subscriber.watch(ROUTES, "*")
    expect(routes.map(({ names, closed }) => [names, closed])).toEqual([
      [new Set(["web"]), true],
      ["*", false],
    ])
    subscriber.acknowledged(ROUTES, 7)
    subscriber.rejected(ROUTES, 8, "no")
    expect(routes[1]?.answers).toEqual(["7", "8: no"])
    subscriber.close()
    subscriber.close()
    expect(routes[1]?.closed).toBe(true)
    subscriber.watch(ROUTES, "*")
    expect(routes.length).toBe(2)
  })
})

it("removes all listeners when it stops", () => {
  const { distribution, connect, apply, woken } = setUp()
  connect()
  distribution.stop()
  apply("p")
  expect(woken).toEqual([])
})

describe("a proxy that had a stream before", () => {
  const versionsOf = (resources: ReadonlyMap<string, { readonly version: string }> = new Map()) =>
    new Map([...resources].map(([name, { version }]) => [name, version]))

  it("is served at once if it has what this replica would send", () => {
    const { reconnect, views, reads } = setUp()
    const subscriber = reconnect(versionsOf(views.get("foo/a")?.resources))
    expect(subscriber.snapshot(PROXY_RESOURCE)).toEqual(views.get("foo/a"))
    expect(reads).toEqual([])
  })

  test.each([
    ["a newer version", "policy/AuthorizationPolicy/foo/p", "newer"],
    ["a policy that this replica does not know", "policy/AuthorizationPolicy/foo/q", "1"],
  ])("is sent nothing before the cluster state is read again if it has %s", async (_, name, version) => {
    const { reconnect, apply, views, reads, woken } = setUp()
    apply("p")
    const subscriber = reconnect(versionsOf(views.get("foo/a")?.resources).set(name, version))
    expect(subscriber.snapshot(PROXY_RESOURCE)).toBeUndefined()
    woken.length = 0
    apply("p", 2)
    expect(subscriber.snapshot(PROXY_RESOURCE)).toBeUndefined()
    for (const done of reads) done()
    await expect.poll(() => woken.length, { message: "the stream is not woken" }).toBeGreaterThan(0)
    expect(subscriber.snapshot(PROXY_RESOURCE)).toEqual(views.get("foo/a"))
  })

  it("is not woken by a read that ends after its stream", async () => {
    const { reconnect, reads, woken } = setUp()
    reconnect(new Map([["policy/AuthorizationPolicy/foo/p", "1"]])).close()
    for (const done of reads) done()
    await new Promise(setImmediate)
    expect(woken).toEqual([])
  })
})
