// SPDX-License-Identifier: Apache-2.0
// Merges the answers of several replicas. test/e2e/control tests how they are queried, with real control planes.

import { describe, expect, it } from "vitest"
import type { ProxyReport } from "../observe/proxy-report.js"
import type { LocalObservations } from "./local-observations.js"
import { MeshObservations, type MeshObservationsSources } from "./mesh-observations.js"
import { OBSERVATION_PATHS } from "./observations-server.js"

const decision = (name: string, time: string) => ({
  metadata: { name, namespace: "foo", creationTimestamp: time },
  spec: { workload: `foo/${name}` },
})
const report = (key: string, connectedAt: string): ProxyReport => ({
  ...{ key, connectedAt, revision: 1, resources: 1, behind: 0, lagMs: 0 },
  ...{ rejection: undefined, version: undefined, certificateNotAfter: undefined },
})

interface Others {
  readonly answers: readonly unknown[]
  readonly silent?: readonly string[]
}

function observationsOf(own: Partial<LocalObservations>, { answers, silent = [] }: Others): MeshObservations {
  const asked: string[] = []
  const others: Partial<MeshObservationsSources["others"]> = {
    ask: async path => {
      asked.push(path)
      return { answers, silent }
    },
    first: async () => ({ found: answers[0], silent }),
  }
  const record = { enforced: new Map(), rejection: undefined, signer: undefined, version: undefined, connectedAt: 0 }
  const proxies = new Map([["foo/reported", { ...record, key: "foo/reported", certificateNotAfter: undefined }]])
  const reported = { ledger: { proxies }, views: { get: () => undefined }, propagation: { lagOf: () => 0 } }
  // Only these sources are read.
  return new MeshObservations({ own, others, reported } as unknown as MeshObservationsSources)
}

describe("decisions", () => {
  const own = { decisions: async () => ({ items: [decision("b", "2")], remaining: 1, asked: 1, known: 1 }) }
  const theirs = { items: [decision("c", "3"), decision("a", "1")], remaining: 4, asked: 2, known: 9 }

  it("come from all replicas, newest first, up to the limit", async () => {
    const seen = await observationsOf(own, { answers: [theirs] }).decisions("foo", new URLSearchParams({ limit: "2" }))
    expect(seen.items.map(({ metadata }) => metadata.name)).toEqual(["c", "b"])
    expect(seen).toMatchObject({ remaining: 6, asked: 3, known: 10, silent: [] })
  })

  it("name replicas that did not answer, and ignore malformed entries", async () => {
    const strange = { items: ["x", { metadata: { name: 7 } }, null], remaining: -1, asked: "many" }
    const observations = observationsOf(own, { answers: [strange, "x", undefined], silent: ["b"] })
    const seen = await observations.decisions("foo", new URLSearchParams())
    expect(seen).toMatchObject({ items: [decision("b", "2")], remaining: 1, asked: 1, silent: ["b"] })
  })

  it("are rejected before other replicas are asked if the filter is invalid", async () => {
    const query = new URLSearchParams({ path: "x".repeat(600) })
    await expect(observationsOf(own, { answers: [] }).decisions("foo", query)).rejects.toThrow(/more than 512/)
  })
})

describe("one decision", () => {
  it("comes from the replica that has it, without waiting for the others", async () => {
    const hangs = { decision: () => new Promise<undefined>(() => undefined) }
    const { found } = await observationsOf(hangs, { answers: [decision("a", "1")] }).decision("a", undefined)
    expect(found?.metadata.name).toBe("a")
    const has = { decision: async () => decision("a", "1") }
    expect((await observationsOf(has, { answers: [], silent: ["b"] }).decision("a", undefined)).found).toBeDefined()
  })

  it("is missing if no replica has it, with the number that did not answer", async () => {
    const none = { decision: async () => undefined }
    expect(await observationsOf(none, { answers: [], silent: ["b"] }).decision("a", undefined)).toEqual({
      found: undefined,
      silent: ["b"],
    })
  })
})

describe("proxies", () => {
  const own = {
    proxies: () => ({ reports: [report("foo/a", "2026-01-02"), report("foo/b", "2026-01-02")], took: [5] }),
  }

  it("are those of all replicas, each from its latest connection", async () => {
    const theirs = { reports: [report("foo/b", "2026-01-03"), report("foo/a", "2026-01-01")], took: [7] }
    const { reports, took, silent } = await observationsOf(own, { answers: [theirs] }).proxies("foo")
    expect(reports.map(({ key, connectedAt }) => [key, connectedAt])).toEqual([
      ["foo/a", "2026-01-02"],
      ["foo/b", "2026-01-03"],
    ])
    expect({ took, silent }).toEqual({ took: [5, 7], silent: [] })
  })

  it("include the reported ones only if a replica does not answer", async () => {
    const keys = async (silent: readonly string[]) =>
      (await observationsOf(own, { answers: [], silent }).proxies("foo")).reports.map(({ key }) => key)
    expect(await keys(["b"])).toEqual(["foo/a", "foo/b", "foo/reported"])
    expect(await keys([])).toEqual(["foo/a", "foo/b"])
  })
})

it("adds up the counts of a minute from several replicas", async () => {
  const minute = (time: string, allowed: number) => ({ time, allowed, denied: 1 })
  const own = { traffic: () => ({ minutes: [minute("2", 1), minute("3", 1)] }) }
  const observations = observationsOf(own, { answers: [{ minutes: [minute("1", 5), minute("2", 5)] }] })
  expect((await observations.traffic("foo")).minutes).toEqual([
    { time: "1", allowed: 5, denied: 1 },
    { time: "2", allowed: 6, denied: 2 },
    { time: "3", allowed: 1, denied: 1 },
  ])
})

it("sends each query to its own path", () => {
  expect(new Set(Object.values(OBSERVATION_PATHS)).size).toBe(Object.keys(OBSERVATION_PATHS).length)
})
