// SPDX-License-Identifier: Apache-2.0
// The ledger counts every batch once, across restarts and replicas, and its size is bounded whatever proxies send.

import { gzipSync } from "node:zlib"
import type { ObservedCall } from "@merlon/policy/ledger"
import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { ManualClient } from "../distribution/testing/manual-client.js"
import { CallLedger } from "./call-ledger.js"
import { type Batch, LedgerShard } from "./ledger-shard.js"
import { rulesOf } from "./rule-digests.js"
import { workloadName } from "./workload-names.js"

const NAMES: MeshNames = meshNames()

const call = (part: Partial<ObservedCall> = {}): ObservedCall => ({
  ...{ caller: "spiffe://cluster.local/ns/app/sa/consumer", workload: "foo/httpbin", port: 8080, protocol: "http" },
  ...{ method: "GET", path: "/", tls: true, verdict: "allow", stage: "default" },
  ...{ firstSeen: 1_000, lastSeen: 2_000, count: 1 },
  ...part,
})

const batch = (part: Partial<Batch> = {}): Batch => ({
  ...{
    proxy: "foo/httpbin-1",
    workload: "foo/httpbin",
    run: "r1",
    sequence: 1,
    calls: [call()],
    rules: [],
    forgotten: 0,
  },
  ...part,
})

const total = (shard: LedgerShard): number => [...shard.calls()].reduce((sum, { count }) => sum + count, 0)

describe("a shard of the ledger", () => {
  it("counts a batch once, also after it is stored and read again", () => {
    const shard = new LedgerShard()
    expect(shard.take(batch(), 5_000)).toBe(true)
    expect(shard.take(batch(), 5_000)).toBe(false)
    const again = LedgerShard.decode(shard.encode(5_000))
    expect(again.take(batch(), 5_000)).toBe(false)
    expect(again.take(batch({ sequence: 2 }), 5_000)).toBe(true)
    expect(again.take(batch({ run: "r2" }), 5_000)).toBe(true)
    expect(total(again)).toBe(3)
  })

  it("keeps at most its limit, and counts what it dropped", () => {
    const shard = new LedgerShard()
    for (let n = 0; n < 40; n++) {
      const calls = Array.from({ length: 500 }, (_, port) => call({ workload: `foo/w${n}`, port, lastSeen: 2_000 + n }))
      shard.take(batch({ sequence: n + 1, calls }), 5_000)
    }
    const size = [...shard.calls()].length
    expect(size).toBeLessThanOrEqual(4_000)
    expect(shard.forgotten).toBeGreaterThan(10_000)
    expect([...shard.calls()].some(({ workload }) => workload === "foo/w39")).toBe(true)
  })

  it("reports until when calls were dropped, also after a restart", () => {
    const shard = new LedgerShard()
    shard.take(batch({ calls: [call({ tls: false, lastSeen: 3_000 })] }), 5_000)
    expect(shard.forgottenUntil("foo/httpbin")).toBe(Number.NEGATIVE_INFINITY)
    const calls = Array.from({ length: 700 }, (_, port) => call({ port, lastSeen: 4_000 }))
    shard.take(batch({ sequence: 2, calls }), 5_000)
    expect([...shard.calls()].some(({ tls }) => !tls)).toBe(false)
    for (const kept of [shard, LedgerShard.decode(shard.encode(5_000))]) {
      expect(kept.forgottenUntil("foo/httpbin")).toBe(4_000)
      expect(kept.forgottenUntil("foo/other")).toBe(Number.NEGATIVE_INFINITY)
    }
  })

  it("dates calls that a proxy dropped to the present", () => {
    const shard = new LedgerShard()
    shard.take(batch({ calls: [], forgotten: 1 }), 5_000)
    expect(LedgerShard.decode(shard.encode(5_000)).forgottenUntil("foo/httpbin")).toBe(5_000)
  })

  it("remembers calls that it dropped to make room for another workload", () => {
    const shard = new LedgerShard()
    shard.take(batch({ calls: [call({ workload: "foo/quiet", lastSeen: 1_500 })] }), 5_000)
    for (let n = 0; n < 10; n++) {
      const calls = Array.from({ length: 500 }, (_, port) => call({ workload: `foo/w${n}`, port, lastSeen: 2_000 + n }))
      shard.take(batch({ sequence: n + 2, workload: `foo/w${n}`, calls }), 5_000)
    }
    expect(shard.forgottenUntil("foo/quiet")).toBe(1_500)
  })

  it("observes from the first batch, and starts again if a stored call is unreadable", () => {
    const shard = new LedgerShard()
    expect(shard.since).toBeUndefined()
    shard.take(batch(), 5_000)
    shard.take(batch({ sequence: 2 }), 9_000)
    expect(LedgerShard.decode(shard.encode(9_000)).since).toBe(5_000)
    const older = JSON.stringify({ calls: [], rules: [], proxies: {}, forgotten: 0 })
    expect(LedgerShard.decode(gzipSync(older), 4_000).since).toBe(4_000)
    const broken = JSON.stringify({ calls: [{ workload: 7 }], since: 1_000 })
    expect(LedgerShard.decode(gzipSync(broken), 4_000).since).toBeUndefined()
    expect(LedgerShard.decode(Buffer.from("hello"), 4_000).since).toBeUndefined()
  })

  it("keeps a quiet workload's calls when another one calls a lot", () => {
    const shard = new LedgerShard()
    shard.take(batch({ calls: [call({ workload: "foo/quiet", lastSeen: 1_500 })] }), 5_000)
    const calls = Array.from({ length: 2_000 }, (_, port) => call({ workload: "foo/loud", port, lastSeen: 3_000 }))
    shard.take(batch({ sequence: 2, calls }), 5_000)
    expect([...shard.calls()].some(({ workload }) => workload === "foo/quiet")).toBe(true)
  })

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["something else", Buffer.from("hello")],
    ["too much", Buffer.alloc(2_000_000)],
  ])("is empty if %s was stored", (_, bytes) => {
    expect([...LedgerShard.decode(bytes).calls()]).toEqual([])
  })

  it("forgets calls that were not seen for 90 days", () => {
    const shard = new LedgerShard()
    shard.take(batch(), 5_000)
    const day = 86_400_000
    expect(total(LedgerShard.decode(shard.encode(2_000 + 89 * day)))).toBe(1)
    expect(total(LedgerShard.decode(shard.encode(2_000 + 91 * day)))).toBe(0)
  })

  it("adds up how often a rule was used", () => {
    const shard = new LedgerShard()
    const use = { policy: "AuthorizationPolicy/foo/a", digest: "d", count: 2, firstSeen: 10, lastSeen: 20 }
    shard.note(use)
    shard.note({ ...use, count: 3, firstSeen: 5, lastSeen: 15 })
    expect([...shard.rules()]).toEqual([{ ...use, count: 5, firstSeen: 5, lastSeen: 20 }])
  })
})

describe("a stored ledger", () => {
  const owner = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "merlond", uid: "u1" }
  const owners = async () => [owner]
  const store = (api: ManualClient) => {
    const warn = (message: string): never => expect.unreachable(message)
    const ledger = new CallLedger({ client: api.client, names: NAMES, stored: api.reflected, owners, warn })
    ledger.take(batch(), () => undefined)
    return ledger.stop()
  }

  it("is deleted with its owner", async () => {
    const api = new ManualClient()
    await store(api)
    const [written] = [...api.reflected.items.values()]
    expect(written?.metadata).toMatchObject({ ownerReferences: [owner] })
  })

  it("is adopted if another installation wrote it", async () => {
    const api = new ManualClient()
    await store(api)
    const [written] = [...api.reflected.items.values()]
    if (written === undefined) return expect.unreachable("nothing was stored")
    const former = { ...written.metadata, ownerReferences: [{ ...owner, uid: "u0" }] }
    api.reflected.set({ ...written, metadata: former, binaryData: {} })
    await store(api)
    expect(api.reflected.items.size).toBe(1)
    expect([...api.reflected.items.values()][0]?.metadata.ownerReferences).toEqual([owner])
  })
})

describe("the observed span", () => {
  it("begins with the stored ledger, and counts calls forgotten in a waiting batch", async () => {
    const api = new ManualClient()
    const warn = (message: string): never => expect.unreachable(message)
    const open = (): CallLedger =>
      new CallLedger({
        ...{ client: api.client, names: NAMES, stored: api.reflected, owners: async () => [], warn },
        now: () => 7_000,
      })
    const ledger = open()
    expect(ledger.observed("foo/httpbin")).toEqual({ since: undefined, forgottenUntil: undefined })
    ledger.take(batch({ forgotten: 2 }), () => undefined)
    expect(ledger.observed("foo/httpbin").forgottenUntil).toBe(7_000)
    expect(ledger.observed("foo/other").forgottenUntil).toBeUndefined()
    await ledger.stop()
    expect(open().observed("foo/httpbin")).toEqual({ since: 7_000, forgottenUntil: 7_000 })
  })
})

describe("a rule's digest", () => {
  const policy = (...rules: readonly object[]) =>
    ({
      apiVersion: `${NAMES.securityGroup}/${NAMES.version}`,
      kind: "AuthorizationPolicy",
      metadata: { namespace: "foo", name: "a" },
      spec: { rules },
    }) as unknown as Parameters<typeof rulesOf>[0] // only the fields that are read

  it("stays when the rule moves, and changes with its contents", () => {
    const [get, post] = [{ to: [{ operation: { methods: ["GET"] } }] }, { to: [{ operation: { methods: ["POST"] } }] }]
    const before = rulesOf(policy(get, post)).map(({ digest }) => digest)
    expect(rulesOf(policy(post, get)).map(({ digest }) => digest)).toEqual([...before].reverse())
    expect(rulesOf(policy({ to: [{ operation: { methods: ["PUT"] } }] }))[0]?.digest).not.toBe(before[0])
  })
})

describe("the name of a workload", () => {
  it.each([
    [["u1", "ReplicaSet/web-7f", "Deployment/web"], "app/web"],
    [["u1", "StatefulSet/db"], "app/db"],
    [[], "app/web-7f-x"],
    [["u1", "Node/n1"], "app/web-7f-x"],
  ])("owned by %j is %s", (owners, name) => {
    expect(workloadName({ key: "app/web-7f-x", namespace: "app", owners })).toBe(name)
  })
})
