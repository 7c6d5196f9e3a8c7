// SPDX-License-Identifier: Apache-2.0
// The control plane records which policies each proxy enforces.
import { PROXY_RESOURCE } from "@merlon/xds"
import { describe, expect, it, test } from "vitest"
import { podOf } from "../registry/testing/objects.js"
import { caller, node, setUp } from "./testing/distribution-stage.js"

describe("the ledger", () => {
  it("counts nothing as enforced before the proxy acknowledges", () => {
    const { connect, proxies } = setUp()
    connect()
    expect(proxies.proxies.get("foo/a")).toMatchObject({ connectedAt: 1_000, enforced: new Map(), signer: undefined })
  })

  it("counts what was sent at the acknowledged revision, not the newest", () => {
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
    // Changed back, as a label or an annotation may be, while the second revision is still in flight.
    apply("p", 1)
    const third = subscriber.snapshot(PROXY_RESOURCE).revision
    expect(enforced()).toBeUndefined()
    subscriber.acknowledged(PROXY_RESOURCE, second)
    expect(enforced()).toBeUndefined()
    subscriber.acknowledged(PROXY_RESOURCE, third)
    expect(enforced()).toBe(version)
  })

  it("counts what a proxy had before an update that it rejects", () => {
    const { connect, apply, proxies } = setUp()
    const subscriber = connect()
    apply("p")
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    const before = proxies.proxies.get("foo/a")?.enforced
    apply("p", 2)
    subscriber.rejected(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision, "cannot compile")
    expect(proxies.proxies.get("foo/a")?.enforced).toBe(before)
  })

  it("ignores an acknowledgement of a revision that was never sent", () => {
    const { connect, proxies } = setUp()
    const subscriber = connect()
    subscriber.snapshot(PROXY_RESOURCE)
    subscriber.acknowledged(PROXY_RESOURCE, 99)
    expect(proxies.proxies.get("foo/a")?.enforced.size).toBe(0)
  })

  it("names the changes of a rejected revision until the next acknowledgement", () => {
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

  it("shares one object for equal versions between streams", () => {
    const { connect, proxies } = setUp()
    const first = connect()
    first.acknowledged(PROXY_RESOURCE, first.snapshot(PROXY_RESOURCE).revision)
    const before = proxies.proxies.get("foo/a")?.enforced
    const second = connect()
    second.acknowledged(PROXY_RESOURCE, second.snapshot(PROXY_RESOURCE).revision)
    expect(proxies.proxies.get("foo/a")?.enforced).toBe(before)
  })

  it("counts the newer of two streams, and the other one again after it ends", () => {
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

  it("ignores a stream of a Pod that was replaced by another of its name", () => {
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

  it("takes the signer from the proxy's report, then from the signed certificate", () => {
    const { connect, proxies } = setUp()
    const [one, two] = ["a".repeat(64), "b".repeat(64)]
    connect(caller(), node("foo/a", { signer: one }))
    expect(proxies.proxies.get("foo/a")?.signer).toBe(one)
    proxies.noteCertificate("foo/a", two, 9_000)
    proxies.noteCertificate("foo/nobody", two, 9_000)
    expect(proxies.proxies.get("foo/a")?.signer).toBe(two)
    expect(proxies.proxies.size).toBe(1)
  })

  it("takes the expiry from the proxy's report, then from the signed certificate", () => {
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
  ])("reads the proxy's call handling %j as %s", (calls, expected) => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { calls }))
    expect(proxies.proxies.get("foo/a")?.calls).toBe(expected)
  })

  test.each([undefined, "5", -1, 1.5, 9e15, {}])("rejects %j as the expiry of a certificate", certificateNotAfter => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { certificateNotAfter }))
    expect(proxies.proxies.get("foo/a")?.certificateNotAfter).toBeUndefined()
  })

  test.each([undefined, 7, "", "A".repeat(64), "a".repeat(65), {}])("rejects %j as a signer", signer => {
    const { connect, proxies } = setUp()
    connect(caller(), node("foo/a", { signer }))
    expect(proxies.proxies.get("foo/a")?.signer).toBeUndefined()
  })

  it("notifies once per burst", () => {
    const { connect, proxies, settle } = setUp()
    const received: string[][] = []
    const stop = proxies.onChange(keys => received.push([...keys]))
    const subscriber = connect()
    subscriber.acknowledged(PROXY_RESOURCE, subscriber.snapshot(PROXY_RESOURCE).revision)
    settle()
    expect(received).toEqual([["foo/a"]])
    stop()
    subscriber.close()
    settle()
    expect(received.length).toBe(1)
  })

  it("remembers a limited number of views of a client that does not answer", () => {
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

it("reports presence at the first complete acknowledgement, and the end of the stream", () => {
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
