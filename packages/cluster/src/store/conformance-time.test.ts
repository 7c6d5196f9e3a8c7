// SPDX-License-Identifier: Apache-2.0
//
// The second part of the suite over all stores, about behaviour over time: watches, compaction, reopening and closing,
// and random histories against a naive model.

import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { CompactedError, type Entry, type StoreEvent } from "./store.js"
import { keysOf, overEngines, put } from "./testing/bench.js"
import { histories, play } from "./testing/history.js"

const plain = ({ key, value, createRevision, modRevision }: Entry): unknown => [key, value, createRevision, modRevision]

overEngines(bench => {
  const { fresh, reopen, write } = bench

  describe("watch", () => {
    it("sends the changes after the revision, then new ones, in order, with the previous values", async () => {
      await fresh()
      const start = await write(put("/a/1", 1))
      await write(put("/b", 1))
      await write(put("/a/1", 2))
      const events: StoreEvent[] = []
      bench.store.watch("/a/", start, event => events.push(event))
      expect(events.map(({ entry }) => entry?.object.n)).toEqual([2])
      await write(put("/a/2", 3), { key: "/a/1", delete: true })
      expect(events.map(({ key, entry, previous }) => [key, entry?.object.n, previous?.object.n])).toEqual([
        ["/a/1", 2, 1],
        ["/a/2", 3, undefined],
        ["/a/1", undefined, 2],
      ])
      expect(events.every(({ revision }, i) => revision >= (events[i - 1]?.revision ?? start))).toBe(true)
    })

    it("notifies watchers before the write resolves", async () => {
      await fresh()
      let last = 0
      bench.store.watch("/", bench.store.revision(), ({ revision }) => {
        last = revision
      })
      for (let n = 0; n < 20; n++) expect(await write(put("/a", n))).toBe(last)
    })

    it("sends nothing after close", async () => {
      await fresh()
      const events: StoreEvent[] = []
      const watch = bench.store.watch("/", bench.store.revision(), event => events.push(event))
      await write(put("/a", 1))
      watch.close()
      await write(put("/a", 2))
      expect(events).toHaveLength(1)
    })

    it("waits for a revision in the future", async () => {
      await fresh()
      const first = await write(put("/a", 0))
      const events: number[] = []
      bench.store.watch("/", first + 2, event => events.push(event.revision))
      await write(put("/a", 1))
      await write(put("/a", 2))
      const third = await write(put("/a", 3))
      expect(events.every(revision => revision > first + 2)).toBe(true)
      expect(events.at(-1)).toBe(third)
    })

    it("throws if the events are compacted, and only then", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/a", 2))
      await write(put("/a", 3))
      await bench.store.compact(second)
      expect(() => bench.store.watch("/", first, () => undefined)).toThrow(CompactedError)
      const events: StoreEvent[] = []
      bench.store.watch("/", second, event => events.push(event))
      expect(events.map(({ entry, previous }) => [entry?.object.n, previous?.object.n])).toEqual([[3, 2]])
    })

    it("neither repeats nor skips changes if it starts during a write", async () => {
      await fresh()
      const start = bench.store.revision()
      const fromHere: StoreEvent[] = []
      const fromStart: StoreEvent[] = []
      let here = 0
      bench.store.watch("/", start, () => {
        if (here > 0) return
        here = bench.store.revision()
        bench.store.watch("/", here, event => fromHere.push(event))
        bench.store.watch("/", start, event => fromStart.push(event))
      })
      const all = await Promise.all(Array.from({ length: 10 }, (_, n) => write(put(`/${n}`, n))))
      expect(fromStart.map(({ key }) => key).sort()).toEqual(all.map((_, n) => `/${n}`).sort())
      expect(fromHere.map(({ key }) => key)).toEqual(
        fromStart.filter(({ revision }) => revision > here).map(({ key }) => key),
      )
    })

    it("continues a list without gaps while other clients write", async () => {
      await fresh()
      let writing = true
      const writer = (async () => {
        for (let n = 0; writing; n++) await write(put(`/w/${n % 7}`, n), { key: `/w/${(n + 3) % 7}`, delete: true })
      })()
      const views: { state: Map<string, string> }[] = []
      for (let i = 0; i < 10; i++) {
        const { entries, revision } = await bench.store.range({ prefix: "/w/" })
        const state = new Map(entries.map(({ key, value }) => [key, value]))
        bench.store.watch("/w/", revision, ({ key, entry, previous }) => {
          expect(previous?.value).toBe(state.get(key))
          if (entry === undefined) state.delete(key)
          else state.set(key, entry.value)
        })
        views.push({ state })
      }
      writing = false
      await writer
      const final = (await bench.store.range({ prefix: "/w/" })).entries.map(({ key, value }) => [key, value])
      for (const { state } of views)
        expect([...state].sort(([a], [b]) => ((a ?? "") < (b ?? "") ? -1 : 1))).toEqual(final)
    })
  })

  describe("compact", () => {
    it("keeps the newest version of every key, and may be repeated, early or late", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      await write(put("/b", 1))
      await write({ key: "/b", delete: true })
      const last = await write(put("/a", 2))
      await bench.store.compact(last + 1000)
      expect(bench.store.compactedRevision()).toBe(last)
      await bench.store.compact(last)
      await bench.store.compact(first)
      expect(bench.store.compactedRevision()).toBe(last)
      expect(bench.store.revision()).toBe(last)
      expect(keysOf(await bench.store.range({ prefix: "/" }))).toEqual(["/a"])
      await reopen()
      expect(bench.store.compactedRevision()).toBe(last)
      expect(() => bench.store.watch("/", first, () => undefined)).toThrow(CompactedError)
    })

    it("during writes undoes nothing when the store is reopened", async () => {
      await fresh()
      for (let round = 0; round < 10; round++) {
        const before = await write(put("/a", round))
        const writes = [write(put("/a", round + 1)), write(put(`/b/${round}`, round))]
        // In some rounds the compaction starts before the writes, in others after.
        for (let turn = 0; turn < round % 4; turn++) await Promise.resolve()
        await Promise.all([bench.store.compact(before), ...writes])
        const revision = bench.store.revision()
        await reopen()
        expect(bench.store.revision()).toBeGreaterThanOrEqual(revision)
        expect(bench.store.compactedRevision()).toBe(before)
        const received: StoreEvent[] = []
        bench.store.watch("/", before, event => received.push(event))
        expect(received.map(({ key }) => key).sort()).toEqual(["/a", `/b/${round}`])
      }
    })
  })

  describe("reopening", () => {
    it("finds everything, never goes back and resumes watches", async () => {
      await fresh()
      const start = await write(put("/a", 1))
      await write(put("/a", 2), put("/b", 1))
      const last = await write({ key: "/b", delete: true })
      const before = (await bench.store.range({ prefix: "/" })).entries.map(plain)
      await reopen()
      expect(bench.store.revision()).toBeGreaterThanOrEqual(last)
      expect((await bench.store.range({ prefix: "/" })).entries.map(plain)).toEqual(before)
      const events: StoreEvent[] = []
      bench.store.watch("/", start, event => events.push(event))
      expect(events.map(({ key, entry, previous }) => [key, entry?.object.n, previous?.object.n])).toEqual([
        ["/a", 2, 1],
        ["/b", 1, undefined],
        ["/b", undefined, 1],
      ])
      expect(await write(put("/c", 1))).toBeGreaterThan(last)
      expect(events.at(-1)?.key).toBe("/c")
    })

    it("rejects the data of another version and says why", async () => {
      await fresh()
      await bench.store.close()
      await bench.place.setFormat(99)
      await expect(bench.place.open()).rejects.toMatchObject({
        code: "store-format",
        message: expect.stringContaining("format 99"),
      })
    })
  })

  describe("close", () => {
    it("rejects later writes and leaves no writer waiting", async () => {
      await fresh()
      const waiting = Array.from({ length: 5 }, (_, n) =>
        bench.store.commit([], [put("/a", n)]).then(
          () => "done",
          () => "rejected",
        ),
      )
      await bench.store.close()
      expect(await Promise.all(waiting)).toHaveLength(5)
      await expect(bench.store.commit([], [put("/a", 9)])).rejects.toMatchObject({ code: "store-closed" })
    })
  })

  it("behaves like the model for random histories", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async steps => {
        await play(await bench.engine.place(), steps)
      }),
      { numRuns: (bench.engine.name === "etcd" ? 10 : 50) * inject("effort") },
    )
  }, 600_000)
})
