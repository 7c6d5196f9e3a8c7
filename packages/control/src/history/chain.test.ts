// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { appended, brokenLinks, byPolicy, type ChangeFacts, type HistoryEntry, unrecordedChanges } from "./chain.js"
import { EMPTY_HISTORY, readHistory, withChanges, writeHistory } from "./namespace-history.js"
import { bodyDigest } from "./policy-body.js"

const facts = (more: Partial<ChangeFacts> = {}): ChangeFacts => ({
  time: "2026-01-01T00:00:00.000Z",
  user: "jane",
  operation: "update",
  kind: "AuthorizationPolicy",
  namespace: "foo",
  name: "web",
  uid: "u1",
  generation: 1,
  difference: { allowed: [], denied: [] },
  ...more,
})
const chain = (count: number): readonly HistoryEntry[] =>
  Array.from({ length: count }, (_, index) => facts({ generation: index + 1 })).reduce(
    appended,
    [] as readonly HistoryEntry[],
  )

describe("a chain", () => {
  it("verifies from any kept entry on", () => {
    const entries = chain(5)
    for (let first = 0; first <= 5; first++) expect(brokenLinks(entries.slice(first))).toEqual([])
  })

  it("is broken by any change of any entry", () => {
    const entries = chain(4)
    const fields = [
      "time",
      "user",
      "operation",
      "name",
      "before",
      "after",
      "difference",
      "previous",
      "sequence",
    ] as const
    fc.assert(
      fc.property(
        fc.nat(3),
        fc.constantFrom(...fields),
        fc.constantFrom("x", 77, { allowed: [], denied: [1] }),
        (at, field, value) => {
          const forged = entries.map((entry, index) => (index === at ? { ...entry, [field]: value } : entry))
          expect(brokenLinks(forged as readonly HistoryEntry[])).not.toEqual([])
        },
      ),
      { numRuns: 60 },
    )
  })

  it("is broken by a missing, doubled or swapped entry", () => {
    const [a, b, c, d] = chain(4) as [HistoryEntry, HistoryEntry, HistoryEntry, HistoryEntry]
    for (const forged of [
      [a, c, d],
      [a, b, d],
      [a, b, b, c],
      [a, c, b, d],
    ])
      expect(brokenLinks(forged)).not.toEqual([])
  })

  it("shows a policy that changed without an entry", () => {
    const [first, second] = [facts({ after: "a" }), facts({ before: "b", generation: 3 })]
    const entries = [first, second].reduce(appended, [] as readonly HistoryEntry[])
    expect(unrecordedChanges(entries)).toEqual([
      "AuthorizationPolicy `foo/web` changed between entries 1 and 2 without an entry",
    ])
    expect(
      unrecordedChanges([first, { ...second, before: "a" }].reduce(appended, [] as readonly HistoryEntry[])),
    ).toEqual([])
  })

  it("joins entries that two replicas wrote out of order", () => {
    const entries = [
      facts({ generation: 2, before: "a", after: "b" }),
      facts({ operation: "create", generation: 1, after: "a" }),
      facts({ operation: "delete", generation: 2, before: "b" }),
    ].reduce(appended, [] as readonly HistoryEntry[])
    expect(
      byPolicy(entries)
        .get("AuthorizationPolicy/foo/web")
        ?.map(({ after }) => after),
    ).toEqual(["a", "b", undefined])
    expect(unrecordedChanges(entries)).toEqual([])
  })
})

describe("a namespace's history", () => {
  const change = (index: number, body = `{"n":${index}}`) => ({
    facts: facts({ generation: index, before: bodyDigest(body) }),
    body,
  })
  const all = Array.from({ length: 20 }, (_, index) => change(index))

  it("drops the oldest entries with their documents and still verifies", () => {
    const { entries, bodies } = withChanges(EMPTY_HISTORY, all, { entries: 8, bytes: 1e6 })
    expect(entries.map(({ sequence }) => sequence)).toEqual([13, 14, 15, 16, 17, 18, 19, 20])
    expect(bodies.size).toBe(8)
    expect(brokenLinks(entries)).toEqual([])
  })

  it("stays within its size limit, however large the policies are", () => {
    const noise = all.map((_, index) =>
      change(index, Array.from({ length: 200 }, (_, n) => bodyDigest(`${index} ${n}`)).join("")),
    )
    const bounds = { entries: 200, bytes: 40_000 }
    const history = withChanges(EMPTY_HISTORY, noise, bounds)
    expect(history.entries.length).toBeGreaterThan(0)
    expect(history.entries.length).toBeLessThan(20)
    expect(Object.values(writeHistory(history)).join("").length).toBeLessThanOrEqual(bounds.bytes)
  })

  it("is read as written, and rejected if it has another format", () => {
    const history = withChanges(EMPTY_HISTORY, all, { entries: 8, bytes: 1e6 })
    expect(readHistory(writeHistory(history))).toEqual(history)
    for (const data of [
      undefined,
      {},
      { entries: "[]" },
      { entries: "[1]", documents: "{}" },
      { entries: "{", documents: "{}" },
    ]) {
      expect(readHistory(data)).toBeUndefined()
    }
  })
})
