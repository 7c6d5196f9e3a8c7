// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import type { ProxyRecord } from "../distribution/ledger.js"
import type { ProxyView } from "../snapshot/proxy-views.js"
import { Propagation } from "./propagation.js"
import { proxyReports } from "./proxy-report.js"
import { ManualClock } from "./testing/manual-clock.js"

function rig() {
  const clock = new ManualClock()
  const views = new Map<string, ProxyView>()
  const proxies = new Map<string, ProxyRecord>()
  const measured: number[] = []
  const spans: string[] = []
  let viewsChanged: (workloads: ReadonlySet<string>) => void = () => undefined
  let proxiesChanged: (keys: ReadonlySet<string>) => void = () => undefined
  const propagation = new Propagation({
    views: {
      get: key => views.get(key),
      onChange: listener => {
        viewsChanged = listener
        return () => undefined
      },
    },
    ledger: {
      proxies,
      onChange: listener => {
        proxiesChanged = listener
        return () => undefined
      },
    },
    propagated: seconds => measured.push(seconds),
    tracer: {
      enabled: true,
      start: name => {
        const result: string[] = [name]
        return { set: () => undefined, fail: why => result.push(why), end: () => spans.push(result.join(": ")) }
      },
    },
    clock,
  })
  const change = (version: string, ...keys: string[]): void => {
    for (const key of keys) {
      const resources = new Map([["policy/p", { name: "policy/p", version, value: new Uint8Array() }]])
      views.set(key, { revision: Number(version), resources })
    }
    viewsChanged(new Set(keys))
  }
  const has = (version: string, ...keys: string[]): void => {
    for (const key of keys) {
      const enforced = new Map([["policy/p", { version }]])
      proxies.set(key, { key, connectedAt: 0, enforced, rejection: undefined, signer: undefined })
      proxiesChanged(new Set([key]))
    }
  }
  const leave = (key: string): void => {
    proxies.delete(key)
    proxiesChanged(new Set([key]))
  }
  const report = () => proxyReports({ views, ledger: { proxies }, propagation }, "", 10)
  return { clock, propagation, measured, spans, change, has, leave, report }
}

it("measures from the change to the last acknowledgement", async () => {
  const { clock, measured, spans, change, has } = rig()
  has("1", "foo/a", "foo/b")
  change("2", "foo/a", "foo/b", "foo/away")
  await clock.advance(100)
  has("2", "foo/a")
  await clock.advance(400)
  has("2", "foo/b")
  expect([measured, spans]).toEqual([[0.5], ["change"]])
})

it("counts a later version as an acknowledgement of every earlier one", async () => {
  const { clock, measured, change, has } = rig()
  has("1", "foo/a")
  change("2", "foo/a")
  await clock.advance(1_000)
  change("3", "foo/a")
  has("2", "foo/a")
  expect(measured).toEqual([])
  await clock.advance(1_000)
  has("3", "foo/a")
  expect(measured).toEqual([2, 1])
})

it("does not wait for a disconnected proxy, nor count that as an acknowledgement", () => {
  const { measured, spans, change, has, leave } = rig()
  has("1", "foo/a", "foo/b")
  change("2", "foo/a", "foo/b")
  leave("foo/a")
  has("2", "foo/b")
  expect(measured).toHaveLength(1)
  has("1", "foo/c")
  change("2", "foo/c")
  leave("foo/c")
  expect(measured).toHaveLength(1)
  expect(spans.at(-1)).toBe("change: the last proxy disconnected")
})

it("reports which proxies lag, and by how much", async () => {
  const { clock, propagation, change, has, report } = rig()
  has("1", "foo/a", "foo/b")
  change("2", "foo/a", "foo/b")
  has("2", "foo/b")
  await clock.advance(29_999)
  expect(propagation.overdue).toBe(0)
  await clock.advance(1)
  expect(propagation.overdue).toBe(1)
  expect(report().map(({ key, revision, behind, lagMs }) => [key, revision, behind, lagMs])).toEqual([
    ["foo/a", 2, 1, 30_000],
    ["foo/b", 2, 0, 0],
  ])
  has("2", "foo/a")
  expect(propagation.overdue).toBe(0)
})

it("remembers a limited number of unacknowledged changes", () => {
  const { spans, change, has } = rig()
  has("0", "foo/a")
  for (let version = 1; version <= 1_000; version++) change(String(version), "foo/a")
  expect(spans).toHaveLength(1_000 - 256)
})
