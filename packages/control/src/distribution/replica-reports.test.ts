// SPDX-License-Identifier: Apache-2.0
import { gzipSync } from "node:zlib"
import { meshNames } from "@merlon/policy/mesh"
import fc from "fast-check"
import { describe, expect, inject, it, test, vi } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { ManualScheduler } from "../snapshot/testing/manual-sources.js"
import { CombinedLedger } from "./combined-ledger.js"
import { ConnectedProxies } from "./connected-proxies.js"
import { InternedVersions } from "./interned-versions.js"
import type { ProxyRecord } from "./ledger.js"
import { decodeReport, encodeReport } from "./replica-report.js"
import { ReplicaReporter } from "./replica-reporter.js"
import { ManualClient } from "./testing/manual-client.js"

const names = meshNames()
const OWN = "merlon-system/merlon-replica-leader"

const versionMaps = fc.dictionary(
  fc.constantFrom("workload", "trust", "policy/AuthorizationPolicy/foo/p", "__proto__", 'keys/["a",""]'),
  fc.constantFrom("v1", "v2"),
)
const records = fc.dictionary(
  fc.constantFrom("foo/a", "foo/b", "bar/c"),
  fc.record({
    connectedAt: fc.nat(),
    enforced: versionMaps,
    signer: fc.option(fc.constantFrom("s1", "s2"), { nil: undefined }),
    certificateNotAfter: fc.option(fc.nat(), { nil: undefined }),
    pod: fc.option(fc.constantFrom("uid-1", "uid-2"), { nil: undefined }),
    rejection: fc.option(
      fc.record({ revision: fc.nat(), message: fc.string(), resources: fc.uniqueArray(fc.string()) }),
      { nil: undefined },
    ),
  }),
)

function recordsOf(value: typeof records extends fc.Arbitrary<infer T> ? T : never, versions: InternedVersions) {
  const entries = Object.entries(value).map(
    ([key, { connectedAt, enforced, signer, rejection, certificateNotAfter, pod }]) => {
      const record: ProxyRecord = {
        key,
        connectedAt,
        enforced: versions.of(Object.entries(enforced)),
        signer,
        certificateNotAfter,
        pod,
        rejection: rejection && { ...rejection, resources: new Set(rejection.resources) },
      }
      return [key, record] as const
    },
  )
  return new Map(entries)
}

describe("a report", () => {
  it("is the same when read, with the same object for equal versions", () => {
    const versions = new InternedVersions()
    fc.assert(
      fc.property(records, fc.nat(), (value, renewed) => {
        const proxies = recordsOf(value, versions)
        const read = decodeReport(encodeReport({ renewed, proxies }), versions)
        expect(read).toEqual({ renewed, proxies })
        for (const [key, { enforced }] of proxies) expect(read?.proxies.get(key)?.enforced).toBe(enforced)
      }),
      { numRuns: 300 * inject("effort") },
    )
  })

  const good = { renewed: 1, sets: { 0: { trust: "v" } }, proxies: { "foo/a": [1, "0", "w", null, null] } }
  test.each<[string, Uint8Array]>([
    ["is not gzip", Buffer.from("hello")],
    ["is empty", Buffer.alloc(0)],
    ["is not JSON", gzipSync("{")],
    ["is too large", Buffer.alloc(1_500_001)],
    ["decompresses to too much", gzipSync(Buffer.alloc(65 * 1024 * 1024, 32))],
    ...(
      [
        ["is a list", []],
        ["is null", null],
        ["has no date", { ...good, renewed: undefined }],
        ["has an invalid date", { ...good, renewed: -1 }],
        ["has no sets", { ...good, sets: [] }],
        ["has versions that are not strings", { ...good, sets: { 0: { trust: 1 } } }],
        ["has long names", { ...good, sets: { 0: { ["x".repeat(3_000)]: "v" } } }],
        ["names a missing set", { ...good, proxies: { "foo/a": [1, "1", null, null, null] } }],
        ["has a proxy that is not a list", { ...good, proxies: { "foo/a": {} } }],
        ["has a short entry", { ...good, proxies: { "foo/a": [1, "0"] } }],
        ["has a broken rejection", { ...good, proxies: { "foo/a": [1, "0", "w", null, [1, "m", "x"]] } }],
      ] as [string, unknown][]
    ).map(([what, value]): [string, Uint8Array] => [what, gzipSync(JSON.stringify(value))]),
  ])("that %s is ignored", (_, bytes) => {
    expect(decodeReport(bytes, new InternedVersions())).toBeUndefined()
  })

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map(text => gzipSync(text)),
        ),
        bytes => {
          decodeReport(bytes, new InternedVersions())
        },
      ),
      { numRuns: 300 * inject("effort") },
    )
  })
})

const OWNER = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "merlond", uid: "u1" }

function setUp() {
  const api = new ManualClient()
  const scheduler = new ManualScheduler()
  const versions = new InternedVersions()
  const errors: unknown[] = []
  const clock = { now: 1_000 }
  const theirs = new ConnectedProxies({ scheduler, now: () => clock.now })
  const own = new ConnectedProxies({ scheduler, now: () => clock.now })
  const onError = (error: unknown) => errors.push(error)
  const owners = async () => [OWNER]
  const reporting = { client: api.client, names, replica: "r2", ledger: theirs, owners }
  const reporter = new ReplicaReporter({ ...reporting, onError, scheduler })
  const leader = new CombinedLedger({ own, reports: api.reflected, ownReport: OWN, versions, scheduler })
  const received: string[][] = []
  leader.onChange(keys => received.push([...keys].sort()))
  const written = (count: number) => vi.waitFor(() => expect(api.writes.length).toBe(count), 90_000)
  const settled = () => new Promise(resolve => setImmediate(resolve))
  return { api, scheduler, errors, clock, theirs, own, reporter, leader, received, written, settled }
}

const sent = (version: string) => new Map([["trust", { version }]])

describe("a replica that does not lead", () => {
  it("writes its report at once, then at most once a second, and renews it", async () => {
    const { api, scheduler, theirs, reporter, written, settled } = setUp()
    reporter.start()
    reporter.start()
    scheduler.advance(0)
    await written(2)
    await settled()
    expect(api.writes.map(write => write.split(" ")[0])).toEqual(["patch", "create"])
    expect(api.reflected.items.get("merlon-system/merlon-replica-r2")?.metadata).toMatchObject({
      labels: { "merlon.dev/replica-report": "r2" },
      ownerReferences: [OWNER],
    })
    for (let i = 0; i < 5; i++) {
      theirs.connect(`foo/${i}`)
      scheduler.advance(100)
    }
    expect(api.writes.length).toBe(2)
    scheduler.advance(500)
    await written(3)
    await settled()
    scheduler.advance(9_999)
    expect(api.writes.length).toBe(3)
    scheduler.advance(1)
    await written(4)
  })

  it("deletes its report when it leads or stops", async () => {
    const { api, scheduler, theirs, reporter, written, settled } = setUp()
    reporter.start()
    scheduler.advance(0)
    await written(2)
    await reporter.stop()
    await reporter.stop()
    theirs.connect("foo/a")
    scheduler.advance(60_000)
    await settled()
    expect(api.writes.at(-1)).toBe("delete configmaps merlon-system/merlon-replica-r2")
    expect(api.writes.length).toBe(3)
  })

  it("writes a report again after it led for a moment", async () => {
    const { api, scheduler, reporter, written, settled } = setUp()
    reporter.start()
    scheduler.advance(0)
    await written(2)
    await settled()
    let open: () => void = () => {}
    api.gate = new Promise(resolve => {
      open = resolve
    })
    const stopped = reporter.stop()
    reporter.start()
    scheduler.advance(1_000)
    await settled()
    expect(api.writes.length).toBe(3)
    open()
    await stopped
    await vi.waitFor(() => expect(api.reflected.items.has("merlon-system/merlon-replica-r2")).toBe(true), 90_000)
    expect(api.writes.map(write => write.split(" ")[0])).toEqual(["patch", "create", "delete", "patch", "create"])
  })

  it("continues after a failure", async () => {
    const { api, scheduler, errors, reporter, leader, theirs, settled } = setUp()
    api.failure = new ApiError(500, "InternalError", "no")
    theirs.connect("foo/a")
    reporter.start()
    scheduler.advance(0)
    await vi.waitFor(() => expect(errors.length).toBe(1), 90_000)
    api.failure = undefined
    await settled()
    scheduler.advance(1_000)
    await vi.waitFor(() => expect(leader.proxies.has("foo/a")).toBe(true), 90_000)
  })
})

describe("the leader", () => {
  it("counts its own proxies and those of the others", async () => {
    const { scheduler, theirs, own, reporter, leader, received, written, settled } = setUp()
    own.connect("foo/mine")
    theirs.connect("foo/theirs", { signer: "a".repeat(64), calls: "captured" }).acknowledged(sent("v1"))
    reporter.start()
    scheduler.advance(10)
    await written(2)
    await settled()
    scheduler.advance(10)
    expect([...leader.proxies.keys()].sort()).toEqual(["foo/mine", "foo/theirs"])
    expect(leader.proxies.get("foo/theirs")).toEqual(theirs.proxies.get("foo/theirs"))
    expect(received.flat().sort()).toEqual(["foo/mine", "foo/theirs"])
    scheduler.advance(10_000)
    await written(3)
    await settled()
    scheduler.advance(10)
    expect(received.flat().length).toBe(2)
  })

  it("counts the later connection of a proxy", async () => {
    const { scheduler, theirs, own, clock, reporter, leader, written, settled } = setUp()
    own.connect("foo/a").acknowledged(sent("old"))
    clock.now = 2_000
    theirs.connect("foo/a").acknowledged(sent("new"))
    reporter.start()
    scheduler.advance(10)
    await written(2)
    await settled()
    expect(leader.proxies.get("foo/a")?.enforced.get("trust")?.version).toBe("new")
    clock.now = 3_000
    own.connect("foo/a")
    scheduler.advance(10)
    expect(leader.proxies.get("foo/a")?.connectedAt).toBe(3_000)
  })

  it("stops counting a report that is not renewed or was deleted", async () => {
    const { api, scheduler, theirs, reporter, leader, received, written, settled } = setUp()
    theirs.connect("foo/a")
    reporter.start()
    scheduler.advance(10)
    await written(2)
    await settled()
    expect(leader.proxies.has("foo/a")).toBe(true)
    api.failure = new ApiError(0, "", "cut off")
    scheduler.advance(29_000)
    await settled()
    expect(leader.proxies.has("foo/a")).toBe(true)
    scheduler.advance(1_000)
    expect(leader.proxies.has("foo/a")).toBe(false)
    scheduler.advance(10)
    expect(received.at(-1)).toEqual(["foo/a"])
  })

  it("is incomplete while a report is not renewed, for a limited time", async () => {
    const { api, scheduler, theirs, reporter, leader, written, settled } = setUp()
    theirs.connect("foo/a")
    reporter.start()
    scheduler.advance(10)
    await written(2)
    await settled()
    expect(leader.complete).toBe(true)
    api.failure = new ApiError(0, "", "cut off")
    scheduler.advance(30_000)
    expect([leader.complete, leader.abandoned]).toEqual([false, []])
    await settled()
    api.failure = undefined
    scheduler.advance(1_000)
    await vi.waitFor(() => expect(leader.complete).toBe(true), 90_000)
    const metadata = { name: "merlon-replica-r3", namespace: "merlon-system" }
    api.reflected.set({ apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { report: "garbage" } })
    expect(leader.complete).toBe(false)
    scheduler.advance(600_000)
    expect(leader.abandoned).toContain("merlon-system/merlon-replica-r3")
  })

  it("ignores its own report of an earlier run, and unreadable reports", async () => {
    const { api, leader } = setUp()
    const metadata = { name: "merlon-replica-leader", namespace: "merlon-system" }
    const record = { key: "foo/a", connectedAt: 1, enforced: new Map(), rejection: undefined, signer: undefined }
    const report = encodeReport({ renewed: 1, proxies: new Map([["foo/a", record]]) }).toString("base64")
    api.reflected.set({ apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { report } })
    expect(leader.proxies.size).toBe(0)
    const other = { ...metadata, name: "merlon-replica-r3" }
    api.reflected.set({ apiVersion: "v1", kind: "ConfigMap", metadata: other, binaryData: { report } })
    expect(leader.proxies.size).toBe(1)
    api.reflected.set({ apiVersion: "v1", kind: "ConfigMap", metadata: other, binaryData: { report: "garbage" } })
    expect(leader.proxies.size).toBe(0)
    leader.stop()
  })
})

it("fits 5,000 proxies into one ConfigMap", () => {
  const versions = new InternedVersions()
  const proxies = new Map<string, ProxyRecord>()
  const hex = (n: number) => (n * 2_654_435_761).toString(16).padStart(16, "0")
  for (let i = 0; i < 5_000; i++) {
    const key = `namespace-${i % 100}/workload-${hex(i)}`
    const enforced = new Map([["workload", hex(i * 7)]])
    for (let p = 0; p < 20; p++)
      enforced.set(`policy/AuthorizationPolicy/namespace-${i % 100}/p${p}`, hex(p * (i % 100)))
    proxies.set(key, {
      key,
      connectedAt: 1_700_000_000_000 + i,
      enforced: versions.of(enforced),
      rejection: undefined,
      signer: "a".repeat(64),
    })
  }
  const bytes = encodeReport({ renewed: 1, proxies })
  expect(decodeReport(bytes, versions)?.proxies.size).toBe(5_000)
  expect(bytes.length).toBeLessThan(750_000)
})
