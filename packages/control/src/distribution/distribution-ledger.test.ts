// SPDX-License-Identifier: Apache-2.0
// What the control plane knows about the policies that each proxy enforces.
import { PROXY_RESOURCE } from "@merlon/xds"
import { describe, expect, it, test } from "vitest"
import { podOf } from "../registry/testing/objects.js"
import { caller, node, setUp } from "./testing/distribution-stage.js"

describe("the ledger", () => {
  it("has a connected proxy enforce nothing before it acknowledges", () => {
    const { connect, proxies } = setUp()
    connect()
    expect(proxies.proxies.get("foo/a")).toMatchObject({ connectedAt: 1_000, enforced: new Map(), signer: undefined })
  })

  it("has what was sent at the acknowledged revision, not what is newest", () => {
    const { connect, apply, proxies, views } = setUp()
    const subscriber = connect()
    const { revision } = subscriber.snapshot(PROXY_RESOURCE)
    apply("p")
    subscriber.snapshot(PROXY_RESOURCE)
    subscriber.acknowledged(PROXY_RESOURCE, revision)
    expect([...(proxies.proxies.get("foo/a")?.enforced.keys() ?? [])].sort()).toEqual(["trust", "workload"])
    const newest = views.get("foo/a")
    subscriber.acknowledged(PROXY_RESOURCE, newest?.revision ?? 0)
    expect(proxies.proxies.get("foo/a")?.enforced).toBe(newest?.resources)
  })

  it("counts nothing that the proxy may have replaced since it acknowledged", () => {
    const { connect, apply, proxies } = setUp()
    const enforced = (): string | undefined =>
      proxies.proxies.get("foo/a")?.enforced.get("policy/AuthorizationPolicy/foo/p")?.version
    const subscriber = connect()
    apply("p")
    const first = subscriber.snapshot(PROXY_RESOURCE).revision
    subscriber.acknowledged(PROXY_RESOURCE, first)
    const version = enforced()
    expect(version).toBeDefined()
    apply("p", 2)
    const second = subscriber.snapshot(PROXY_RESOURCE).revision
    expect(enforced()).toBeUndefined()
    // Changed back, as a label or an annotation may be: the second one is still under way.
    apply("p", 1)
    const third = subscriber.snapshot(PROXY_RESOURCE).revision
    expect(enforced()).toBeUndefined()
    subscriber.acknowledged(PROXY_RESOURCE, second)
    expect(enforced()).toBeUndefined()
    subscriber.acknowledged(PROXY_RESOURCE, third)
    expect(enforced()).toBe(version)
  })

  it("counts what a proxy had before the update that it rejects", () => {
    const { connect, apply, proxies } = setUp()
    const subscriber = connect()
    apply("p")
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    const before = proxies.proxies.get("foo/a")?.enforced
    apply("p", 2)
    subscriber.rejected(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision, "cannot compile")
    expect(proxies.proxies.get("foo/a")?.enforced).toBe(before)
  })

  it("takes no acknowledgement of what was never sent", () => {
    const { connect, proxies } = setUp()
    const subscriber = connect()
    subscriber.snapshot(PROXY_RESOURCE)
    subscriber.acknowledged(PROXY_RESOURCE, 99)
    expect(proxies.proxies.get("foo/a")?.enforced.size).toBe(0)
  })

  it("names what a rejected revision would have brought, until the next acknowledgement", () => {
    const { connect, apply, proxies } = setUp()
    const subscriber = connect()
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    apply("p")
    const { revision } = subscriber.snapshot(PROXY_RESOURCE)
    subscriber.rejected(PROXY_RESOURCE, revision, "cannot compile")
    expect(proxies.proxies.get("foo/a")?.rejection).toEqual({
      revision,
      message: "cannot compile",
      resources: new Set(["policy/AuthorizationPolicy/foo/p"]),
    })
    apply("p", 2)
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    expect(proxies.proxies.get("foo/a")?.rejection).toBeUndefined()
  })

  it("has one object for equal versions, over streams", () => {
    const { connect, proxies } = setUp()
    const first = connect()
    first.acknowledged(PROXY_RESOURCE, first.snapshot(PROXY_RESOURCE).revision)
    const before = proxies.proxies.get("foo/a")?.enforced
    const second = connect()
    second.acknowledged(PROXY_RESOURCE, second.snapshot(PROXY_RESOURCE).revision)
    expect(proxies.proxies.get("foo/a")?.enforced).toBe(before)
  })

  it("counts the younger of two streams, and the other again when it ends", () => {
    const { connect, proxies, clock } = setUp()
    const first = connect()
    clock.now = 2_000
    const second = connect()
    expect(proxies.proxies.get("foo/a")?.connectedAt).toBe(2_000)
    second.close()
    expect(proxies.proxies.get("foo/a")?.connectedAt).toBe(1_000)
    first.close()
    expect(proxies.proxies.size).toBe(0)
  })

  it("counts no stream of a Pod that another one of its name has replaced", () => {
    const { connect, proxies, registry, settle } = setUp()
    const old = connect(caller({ podUid: "uid-foo/a" }))
    old.acknowledged(PROXY_RESOURCE, old.snapshot(PROXY_RESOURCE).revision)
    registry.setPod(podOf("foo/a", { serviceAccount: "web", labels: { app: "web", changed: "yes" } }))
    settle()
    expect(proxies.proxies.size).toBe(1)
    registry.setPod(podOf("foo/a", { serviceAccount: "web", labels: { app: "web" }, metadata: { uid: "uid-new" } }))
    settle()
    old.acknowledged(PROXY_RESOURCE, old.snapshot(PROXY_RESOURCE).revision)
    expect(proxies.proxies.size).toBe(0)
    connect(caller({ podUid: "uid-new" }))
    old.close()
    expect(proxies.proxies.get("foo/a")?.enforced.size).toBe(0)
  })

  it("knows the signer by the proxy's word, then by what was signed", () => {
    const { connect, proxies } = setUp()
    const [one, two] = ["a".repeat(64), "b".repeat(64)]
    connect(caller(), node("foo/a", { signer: one }))
    expect(proxies.proxies.get("foo/a")?.signer).toBe(one)
    proxies.noteCertificate("foo/a", two, 9_000)
    proxies.noteCertificate("foo/nobody", two, 9_000)
    expect(proxies.proxies.get("foo/a")?.signer).toBe(two)
    expect(proxies.proxies.size).toBe(1)
  })

  it("knows when a certificate ends by the proxy's word, then by what was signed", () => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { certificateNotAfter: 5_000 }))
    expect(proxies.proxies.get("foo/a")?.certificateNotAfter).toBe(5_000)
    proxies.noteCertificate("foo/a", "b".repeat(64), 9_000)
    expect(proxies.proxies.get("foo/a")?.certificateNotAfter).toBe(9_000)
  })

  test.each([
    ["captured", "captured"],
    ["http_proxy", "http_proxy"],
    ["all of them", undefined],
    [true, undefined],
    [undefined, undefined],
  ])("takes %j of a proxy for calls that are %s", (calls, expected) => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { calls }))
    expect(proxies.proxies.get("foo/a")?.calls).toBe(expected)
  })

  test.each([undefined, "5", -1, 1.5, 9e15, {}])("takes %j for no end of a certificate", certificateNotAfter => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { certificateNotAfter }))
    expect(proxies.proxies.get("foo/a")?.certificateNotAfter).toBeUndefined()
  })

  test.each([undefined, 7, "", "A".repeat(64), "a".repeat(65), {}])("takes %j for no signer", signer => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { signer }))
    expect(proxies.proxies.get("foo/a")?.signer).toBeUndefined()
  })

  it("tells once of a burst", () => {
    const { connect, proxies, settle } = setUp()
    const told: string[][] = []
    const stop = proxies.onChange(keys => told.push([...keys]))
    const subscriber = connect()
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    settle()
    expect(told).toEqual([["foo/a"]])
    stop()
    subscriber.close()
    settle()
    expect(told.length).toBe(1)
  })

  it("remembers of a client that answers nothing a bounded number of views", () => {
    const { connect, apply, proxies, views } = setUp()
    const subscriber = connect()
    const first = subscriber.snapshot(PROXY_RESOURCE).revision
    for (let generation = 1; generation <= 40; generation++) {
      apply("p", generation)
      subscriber.snapshot(PROXY_RESOURCE)
    }
    subscriber.acknowledged(PROXY_RESOURCE, first)
    expect(proxies.proxies.get("foo/a")?.enforced.size).toBe(0)
    subscriber.acknowledged(PROXY_RESOURCE, views.get("foo/a")?.revision ?? 0)
    expect(proxies.proxies.get("foo/a")?.enforced.size).toBe(3)
  })
})

it("tells of presence with the first acknowledgement of everything, and when that stream ends", () => {
  const { connect, apply, presence } = setUp()
  const silent = connect()
  silent.close()
  const subscriber = connect()
  expect(presence).toEqual([])
  subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
  apply("p")
  subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
  expect(presence).toEqual(["enforcing foo/a from 10.0.0.9"])
  subscriber.close()
  subscriber.close()
  expect(presence).toEqual(["enforcing foo/a from 10.0.0.9", "gone foo/a"])
})
