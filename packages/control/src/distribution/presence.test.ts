// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import type { ClientNode } from "@merlon/xds/server"
import { describe, expect, it, test, vi } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { objectOf } from "../registry/foreign.js"
import { podOf } from "../registry/testing/objects.js"
import { ManualScheduler } from "../snapshot/testing/manual-sources.js"
import { DeclaredPresence } from "./presence.js"
import { ManualClient } from "./testing/manual-client.js"

const KEY = "foo/a"
const declared = (status: object = {}) =>
  podOf(KEY, { proxied: false, annotations: { "merlon.dev/workload": "declared" }, status })
const node = (metadata: ClientNode["metadata"] = {}, peerAddress = "127.0.0.1"): ClientNode => ({
  id: KEY,
  metadata,
  peerAddress,
})

function setUp(pod = declared(), replica = "r1", api = new ManualClient()) {
  if (api.reflected.items.size === 0) api.reflected.set(pod)
  const scheduler = new ManualScheduler()
  const errors: string[] = []
  const presence = new DeclaredPresence({
    client: api.client,
    pods: api.reflected,
    names: meshNames(),
    replica,
    scheduler,
    now: () => Date.parse("2026-01-01T00:00:00.123Z") + scheduler.now(),
    onError: (key, error) => errors.push(`${key}: ${String(error)}`),
  })
  const status = () => objectOf(api.reflected.items.get(KEY)?.status)
  const ready = () => {
    const { conditions } = status() as { conditions?: { type: string; status: string }[] }
    return conditions?.find(({ type }) => type === "Ready")?.status
  }
  const written = (count: number) => vi.waitFor(() => expect(api.writes.length).toBe(count), 90_000)
  const settled = () => new Promise(resolve => setImmediate(resolve))
  return { api, scheduler, errors, presence, status, ready, written, settled }
}

it("marks a declared Pod running and ready at the address of its stream", async () => {
  const pod = declared({ conditions: [{ type: "Other", status: "True" }] })
  const { presence, status, ready } = setUp({ ...pod, spec: { containers: [{ name: "web", image: "-" }] } })
  presence.enforcing(KEY, node())
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
  expect(status()).toMatchObject({
    phase: "Running",
    podIP: "127.0.0.1",
    podIPs: [{ ip: "127.0.0.1" }],
    startTime: "2026-01-01T00:00:01Z",
    conditions: [
      { type: "Other", status: "True" },
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:01Z" },
    ],
    containerStatuses: [{ name: "web", ready: true, restartCount: 0, state: { running: {} } }],
  })
})

it("shows a gated Pod as scheduled once its proxy enforces", async () => {
  const gated = { type: "PodScheduled", status: "False", reason: "SchedulingGated" }
  const { presence, status, ready } = setUp(declared({ conditions: [gated] }))
  presence.enforcing(KEY, node())
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
  expect(status().conditions).toEqual([
    { type: "PodScheduled", status: "True", reason: "Declared", lastTransitionTime: "2026-01-01T00:00:01Z" },
    expect.objectContaining({ type: "Ready", status: "True" }),
  ])
})

test.each<[string, ClientNode, string | undefined]>([
  ["its report", node({ address: "10.1.2.3" }), "10.1.2.3"],
  ["its report of an IPv6 address", node({ address: "fd00::7" }), "fd00::7"],
  ["the stream if its report is not an address", node({ address: "; rm -rf" }), "127.0.0.1"],
  ["the stream if its report is not a string", node({ address: { a: 1 } }), "127.0.0.1"],
  ["the stream as plain IPv4", node({}, "::ffff:10.0.0.4"), "10.0.0.4"],
  ["neither if both are unusable", node({}, "unix:/x"), undefined],
])("takes the address from %s", async (_, from, expected) => {
  const { presence, status, ready } = setUp()
  presence.enforcing(KEY, from)
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
  expect(status().podIP).toBe(expected)
})

test.each([
  ["that runs", podOf(KEY)],
  ["with another annotation", podOf(KEY, { annotations: { "merlon.dev/workload": "else" } })],
])("never changes a Pod %s", async (_, pod) => {
  const { presence, api, scheduler, settled } = setUp(pod)
  presence.enforcing(KEY, node())()
  scheduler.advance(60_000)
  presence.sweep({ proxies: new Map(), onChange: () => () => {} })
  scheduler.advance(60_000)
  presence.sweep({ proxies: new Map(), onChange: () => () => {} })
  await settled()
  expect(api.writes).toEqual([])
})

it("does not write an unchanged status", async () => {
  const first = setUp()
  const gone = first.presence.enforcing(KEY, node())
  await first.written(1)
  await first.settled()
  gone()
  first.presence.enforcing(KEY, node())
  await first.settled()
  expect(first.api.writes.length).toBe(1)
})

describe("a disconnected proxy", () => {
  it("makes its Pod not ready after the grace period", async () => {
    const { presence, scheduler, ready, status, api } = setUp()
    const gone = presence.enforcing(KEY, node())
    await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
    gone()
    scheduler.advance(9_999)
    expect(api.writes.length).toBe(1)
    scheduler.advance(1)
    await vi.waitFor(() => expect(ready()).toBe("False"), 90_000)
    expect(status()).toMatchObject({ phase: "Running", podIP: "127.0.0.1" })
  })

  it("leaves it ready if it reconnects in time, or has another stream", async () => {
    const { presence, scheduler, ready, settled } = setUp()
    const first = presence.enforcing(KEY, node())
    const second = presence.enforcing(KEY, node())
    first()
    first()
    scheduler.advance(60_000)
    second()
    scheduler.advance(5_000)
    presence.enforcing(KEY, node())
    scheduler.advance(60_000)
    await settled()
    expect(ready()).toBe("True")
  })

  it("leaves it ready if it is connected to another replica", async () => {
    const first = setUp()
    const second = setUp(declared(), "r2", first.api)
    const gone = first.presence.enforcing(KEY, node())
    await first.written(1)
    await first.settled()
    gone()
    second.presence.enforcing(KEY, node())
    await first.written(2)
    await first.settled()
    first.scheduler.advance(60_000)
    await first.settled()
    expect(first.ready()).toBe("True")
    expect(first.api.writes.length).toBe(2)
  })

  it("is reported by the sweep if its replica is gone too", async () => {
    const first = setUp()
    first.presence.enforcing(KEY, node())
    await vi.waitFor(() => expect(first.ready()).toBe("True"), 90_000)
    first.presence.stop()
    const leader = setUp(declared(), "r2", first.api)
    const here = { proxies: new Map([[KEY, {} as never]]), onChange: () => () => {} }
    const nowhere = { proxies: new Map(), onChange: () => () => {} }
    leader.presence.sweep(nowhere)
    leader.scheduler.advance(20_000)
    leader.presence.sweep(here)
    leader.presence.sweep(nowhere)
    leader.scheduler.advance(9_999)
    leader.presence.sweep(nowhere)
    await leader.settled()
    expect(leader.ready()).toBe("True")
    leader.scheduler.advance(1)
    leader.presence.sweep(nowhere)
    await vi.waitFor(() => expect(leader.ready()).toBe("False"), 90_000)
  })
})

describe("after a restart", () => {
  const nowhere = { proxies: new Map(), onChange: () => () => {} }
  const OTHER = "foo/b"

  /** Two Pods that an earlier run marked ready; the proxy of the second one reconnects. */
  async function restarted() {
    const api = new ManualClient()
    const first = setUp(declared(), "r1", api)
    first.presence.enforcing(KEY, node())
    await vi.waitFor(() => expect(first.ready()).toBe("True"), 90_000)
    first.presence.stop()
    api.reflected.set(podOf(OTHER, { proxied: false, annotations: { "merlon.dev/workload": "declared" } }))
    return setUp(declared(), "r1", api)
  }

  it("marks no Pod not ready while proxies still reconnect, then those without one", async () => {
    const { presence, scheduler, ready, settled } = await restarted()
    for (let returned = 0; returned < 10; returned++) {
      presence.enforcing(OTHER, { ...node(), id: OTHER })
      presence.sweep(nowhere)
      scheduler.advance(9_000)
      presence.sweep(nowhere)
    }
    await settled()
    expect(ready()).toBe("True")
    scheduler.advance(10_000)
    presence.sweep(nowhere)
    scheduler.advance(10_000)
    presence.sweep(nowhere)
    await vi.waitFor(() => expect(ready()).toBe("False"), 90_000)
  })

  it("waits no longer than two minutes for proxies to reconnect", async () => {
    const { presence, scheduler, ready } = await restarted()
    scheduler.advance(120_000)
    for (const _ of [1, 2]) {
      presence.enforcing(OTHER, { ...node(), id: OTHER })
      presence.sweep(nowhere)
      scheduler.advance(10_000)
    }
    presence.sweep(nowhere)
    await vi.waitFor(() => expect(ready()).toBe("False"), 90_000)
  })
})

it("marks a Pod ready again that was declared again under a connected proxy", async () => {
  const { presence, api, ready } = setUp()
  presence.enforcing(KEY, node())
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
  api.reflected.delete(KEY)
  api.reflected.set(declared())
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
})

it("retries with growing delays, and reports the error", async () => {
  const { presence, api, scheduler, errors, ready, written } = setUp()
  api.failure = new ApiError(503, "ServiceUnavailable", "try later")
  presence.enforcing(KEY, node())
  for (const [attempt, delay] of [
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
  ] as const) {
    await written(attempt)
    await vi.waitFor(() => expect(scheduler.waiting).toEqual([delay]), 90_000)
    scheduler.advance(delay)
  }
  await written(4)
  await vi.waitFor(() => expect(errors.length).toBe(4), 90_000)
  api.failure = undefined
  scheduler.advance(30_000)
  await vi.waitFor(() => expect(ready()).toBe("True"), 90_000)
})

it("gives up if the Pod is deleted", async () => {
  const { presence, api, scheduler, errors, settled } = setUp()
  api.failure = new ApiError(404, "NotFound", "gone")
  presence.enforcing(KEY, node())
  await settled()
  expect(scheduler.waiting).toEqual([])
  expect(errors).toEqual([])
})

it("writes one status at a time, and finally the last one", async () => {
  const { presence, api, scheduler, ready, written } = setUp()
  let open: () => void = () => {}
  api.gate = new Promise(resolve => (open = resolve))
  presence.enforcing(KEY, node())()
  scheduler.advance(10_000)
  presence.enforcing(KEY, node({ address: "10.0.0.5" }))
  expect(api.writes.length).toBe(1)
  open()
  await written(2)
  await vi.waitFor(() => expect(objectOf(api.reflected.items.get(KEY)?.status).podIP).toBe("10.0.0.5"), 90_000)
  expect(ready()).toBe("True")
})

it("is ready only while its application is, whichever replica reports it", async () => {
  const api = new ManualClient()
  const first = setUp(declared(), "r1", api)
  const end = first.presence.enforcing(KEY, node())
  await vi.waitFor(() => expect(first.ready()).toBe("True"), 90_000)
  // Its proxy reconnects to another replica with a new report.
  end()
  const second = setUp(declared(), "r2", api)
  const over = second.presence.enforcing(KEY, node({ application: "not ready" }))
  await vi.waitFor(() => expect(second.ready()).toBe("False"), 90_000)
  expect(second.status().conditions).toMatchObject([{ reason: "ApplicationNotReady" }])
  over()
  second.presence.enforcing(KEY, node())
  await vi.waitFor(() => expect(second.ready()).toBe("True"), 90_000)
})

it("reports on the Pod whether its application can be reached past its proxy", async () => {
  const { presence, status } = setUp()
  const resultOf = (message: string | undefined) =>
    vi.waitFor(() => {
      const { conditions } = status() as { conditions?: { type: string; status: string; message: string }[] }
      const found = conditions?.find(({ type }) => type === "merlon.dev/Captured")
      expect([conditions !== undefined, found?.message]).toEqual([true, message])
    }, 90_000)
  presence.enforcing(KEY, node({ exposed: "8080,9090" }))
  await resultOf(
    "its application answers without going through xserver at ports 8080, 9090; let it listen on 127.0.0.1",
  )
  presence.enforcing(KEY, node({}))
  await resultOf(undefined)
  presence.enforcing(KEY, node({ exposed: "8080" }))
  await resultOf("its application answers without going through xserver at port 8080; let it listen on 127.0.0.1")
  presence.enforcing(KEY, node({ exposed: "none" }))
  await resultOf(undefined)
})
