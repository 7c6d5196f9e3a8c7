// SPDX-License-Identifier: Apache-2.0
//
// One behavioural suite over all stores: every promise of store.ts, then random histories against a naive model.

import fc from "fast-check"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { CompactedError, type Entry, FutureRevisionError, type Store, type StoreEvent } from "./store.js"
import { type Engine, engines, type Place } from "./testing/engines.js"
import { histories, play } from "./testing/history.js"

const put = (key: string, n: number): { key: string; value: string } => ({ key, value: JSON.stringify({ n }) })
const keysOf = (found: { entries: { key: string }[] }): string[] => found.entries.map(({ key }) => key)
const plain = ({ key, value, createRevision, modRevision }: Entry): unknown => [key, value, createRevision, modRevision]

for (const engine of engines) {
  describe.skipIf(engine.skip !== undefined)(`${engine.name} store${engine.skip ? ` (${engine.skip})` : ""}`, () =>
    suite(engine),
  )
}

function suite(engine: Engine): void {
  let place: Place
  let store: Store

  beforeAll(() => engine.start())
  afterAll(() => engine.stop())
  afterEach(async () => {
    await store?.close().catch(() => undefined)
    await place?.remove()
  })

  const fresh = async (): Promise<Store> => {
    place = await engine.place()
    store = await place.open()
    return store
  }
  const reopen = async (): Promise<Store> => {
    await store.close()
    store = await place.open()
    return store
  }
  const write = async (...writes: Parameters<Store["commit"]>[1]): Promise<number> => {
    const revision = await store.commit([], writes)
    if (revision === undefined) throw new Error("a commit without compares failed")
    return revision
  }

  describe("commit", () => {
    it("creates, replaces and deletes, with the revisions to tell them apart", async () => {
      await fresh()
      expect(await store.get("/a")).toBeUndefined()
      const first = await write(put("/a", 1))
      expect(await store.get("/a")).toMatchObject({
        key: "/a",
        createRevision: first,
        modRevision: first,
        object: { n: 1 },
      })
      const second = await write(put("/a", 2))
      expect(second).toBeGreaterThan(first)
      expect(await store.get("/a")).toMatchObject({ createRevision: first, modRevision: second, object: { n: 2 } })
      await write({ key: "/a", delete: true })
      expect(await store.get("/a")).toBeUndefined()
      const again = await write(put("/a", 3))
      expect(await store.get("/a")).toMatchObject({ createRevision: again, modRevision: again })
    })

    it("writes nothing and tells nobody where a compare fails", async () => {
      await fresh()
      const events: StoreEvent[] = []
      const made = await write(put("/a", 1))
      store.watch("", made, event => events.push(event))
      expect(await store.commit([{ key: "/a", modRevision: 0 }], [put("/a", 2)])).toBeUndefined()
      expect(await store.commit([{ key: "/a", modRevision: made - 1 }], [put("/a", 2)])).toBeUndefined()
      expect(await store.commit([{ key: "/b", modRevision: made }], [put("/b", 2)])).toBeUndefined()
      expect(store.revision()).toBe(made)
      expect(await store.get("/a")).toMatchObject({ object: { n: 1 } })
      await write(put("/c", 1))
      expect(events.map(({ key }) => key)).toEqual(["/c"])
    })

    it("writes all or nothing", async () => {
      await fresh()
      const made = await write(put("/a", 1))
      const compares = [
        { key: "/a", modRevision: made },
        { key: "/b", modRevision: 7 },
      ]
      expect(await store.commit(compares, [put("/a", 2), put("/b", 2)])).toBeUndefined()
      expect(await store.get("/b")).toBeUndefined()
      const done = await store.commit(
        [{ key: "/a", modRevision: made }],
        [put("/a", 2), put("/b", 2), { key: "/c", delete: true }],
      )
      expect(keysOf(await store.range({ prefix: "/" }))).toEqual(["/a", "/b"])
      expect(store.revision()).toBeGreaterThanOrEqual(done ?? Number.NaN)
    })

    it("takes the deletion of what is not there for no change", async () => {
      await fresh()
      const made = await write(put("/a", 1))
      const events: StoreEvent[] = []
      store.watch("", made, event => events.push(event))
      expect(await write({ key: "/none", delete: true })).toBeGreaterThanOrEqual(made)
      expect(await store.commit([{ key: "/a", modRevision: made }], [])).toBeGreaterThanOrEqual(made)
      expect(events).toEqual([])
    })

    it("lets exactly one of many racers win", async () => {
      await fresh()
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => store.commit([{ key: "/a", modRevision: 0 }], [put("/a", n)])),
      )
      expect(answers.filter(answer => answer !== undefined)).toHaveLength(1)
      const winner = answers.findIndex(answer => answer !== undefined)
      expect(await store.get("/a")).toMatchObject({ object: { n: winner }, modRevision: answers[winner] })
    })

    it("counts every increment of writers that compare and retry", async () => {
      await fresh()
      await write(put("/counter", 0))
      const increment = async (): Promise<void> => {
        for (;;) {
          const entry = await store.get("/counter")
          const next = Number(entry?.object.n) + 1
          const compares = [{ key: "/counter", modRevision: entry?.modRevision ?? 0 }]
          if ((await store.commit(compares, [put("/counter", next)])) !== undefined) return
        }
      }
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 5; i++) await increment()
        }),
      )
      expect(await store.get("/counter")).toMatchObject({ object: { n: 40 } })
    })

    it("serves a writer that waits for each answer before the next write", async () => {
      await fresh()
      let last = store.revision()
      for (let n = 0; n < 50; n++) {
        const revision = await write(put("/a", n))
        expect(revision).toBeGreaterThan(last)
        last = revision
      }
    })

    it("keeps any text as it is", async () => {
      await fresh()
      const value = JSON.stringify({ text: ' {"} \n\t é 漢 🜲 \u0000', long: "x".repeat(500_000) })
      await write({ key: "/odd key {1}", value })
      await reopen()
      expect((await store.get("/odd key {1}"))?.value).toBe(value)
    })
  })

  it("shows this process's own writes in recent reads", async () => {
    await fresh()
    const recent = store.recent()
    for (let n = 0; n < 10; n++) {
      await write(put("/a", n))
      expect(await recent.get("/a")).toMatchObject({ object: { n } })
      expect((await recent.range({ prefix: "/" })).entries.map(({ object }) => object)).toEqual([{ n }])
    }
  })

  it("knows which revisions there are", async () => {
    await fresh()
    const made = await write(put("/a", 1))
    expect(await store.reached(1)).toBe(true)
    expect(await store.reached(made)).toBe(true)
    expect(await store.reached(made + 1000)).toBe(false)
  })

  describe("range", () => {
    it("is sorted, holds to its prefix and pages with limit and after", async () => {
      await fresh()
      for (const key of ["/b/2", "/a/1", "/b/10", "/b", "/b/1", "/c"]) await write(put(key, 1))
      expect(keysOf(await store.range({ prefix: "/b/" }))).toEqual(["/b/1", "/b/10", "/b/2"])
      const page = await store.range({ prefix: "/b/", limit: 2 })
      expect(keysOf(page)).toEqual(["/b/1", "/b/10"])
      expect(page.remaining).toBe(1)
      const rest = await store.range({ prefix: "/b/", limit: 2, after: "/b/10", revision: page.revision })
      expect(keysOf(rest)).toEqual(["/b/2"])
      expect(rest.remaining).toBe(0)
      expect(keysOf(await store.range({ prefix: "/b/", after: "/a" }))).toEqual(["/b/1", "/b/10", "/b/2"])
      expect(keysOf(await store.range({ prefix: "/b/", after: "/z" }))).toEqual([])
    })

    it("has one order for all scripts, before and after it is opened again", async () => {
      await fresh()
      const names = ["/r/a", "/r/é", "/r/ｚ", "/r/😀"]
      for (const key of [...names].reverse()) await write(put(key, 1))
      expect(keysOf(await store.range({ prefix: "/r/" }))).toEqual(names)
      await reopen()
      expect(keysOf(await store.range({ prefix: "/r/" }))).toEqual(names)
      const page = await store.range({ prefix: "/r/", limit: 3 })
      const rest = await store.range({
        prefix: "/r/",
        limit: 3,
        after: page.entries.at(-1)?.key ?? "",
        revision: page.revision,
      })
      expect([...keysOf(page), ...keysOf(rest)]).toEqual(names)
      await write({ key: "/r/😀", delete: true })
      expect(keysOf(await store.range({ prefix: "/r/" }))).toEqual(names.slice(0, 3))
    })

    it("reads the past as it was", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/b", 1))
      await write(put("/a", 2))
      await write({ key: "/b", delete: true })
      expect((await store.range({ prefix: "/", revision: first })).entries.map(({ object }) => object)).toEqual([
        { n: 1 },
      ])
      const then = await store.range({ prefix: "/", revision: second })
      expect(keysOf(then)).toEqual(["/a", "/b"])
      expect(then.revision).toBe(second)
      expect(then.entries[0]).toMatchObject({ modRevision: first, createRevision: first, object: { n: 1 } })
    })

    it("refuses the future and what is forgotten", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/a", 2))
      await expect(store.range({ prefix: "/", revision: second + 1000 })).rejects.toBeInstanceOf(FutureRevisionError)
      await store.compact(second)
      await expect(store.range({ prefix: "/", revision: first })).rejects.toBeInstanceOf(CompactedError)
      expect(keysOf(await store.range({ prefix: "/", revision: second }))).toEqual(["/a"])
    })

    it("pages through one revision while others write", async () => {
      await fresh()
      const names = Array.from({ length: 2_500 }, (_, n) => `/many/${String(n).padStart(5, "0")}`)
      for (let i = 0; i < names.length; i += 100) await write(...names.slice(i, i + 100).map(key => put(key, 0)))
      expect(keysOf(await store.range({ prefix: "/many/" }))).toEqual(names)
      const first = await store.range({ prefix: "/many/", limit: 700 })
      const seen = keysOf(first)
      for (let page = first; page.remaining > 0; ) {
        await write(
          { key: seen[0] ?? "", delete: true },
          put(`/many/x${seen.length}`, 1),
          put(names.at(-1) ?? "", seen.length),
        )
        page = await store.range({ prefix: "/many/", limit: 700, after: seen.at(-1) ?? "", revision: first.revision })
        expect(page.remaining).toBe(names.length - seen.length - page.entries.length)
        seen.push(...keysOf(page))
        for (const { object } of page.entries) expect(object).toEqual({ n: 0 })
      }
      expect(seen).toEqual(names)
      expect(keysOf(await store.range({ prefix: "/many/", revision: first.revision }))).toEqual(names)
    })
  })

  describe("watch", () => {
    it("brings what came after the revision, then what comes, in order, with what was before", async () => {
      await fresh()
      const start = await write(put("/a/1", 1))
      await write(put("/b", 1))
      await write(put("/a/1", 2))
      const events: StoreEvent[] = []
      store.watch("/a/", start, event => events.push(event))
      expect(events.map(({ entry }) => entry?.object.n)).toEqual([2])
      await write(put("/a/2", 3), { key: "/a/1", delete: true })
      expect(events.map(({ key, entry, previous }) => [key, entry?.object.n, previous?.object.n])).toEqual([
        ["/a/1", 2, 1],
        ["/a/2", 3, undefined],
        ["/a/1", undefined, 2],
      ])
      expect(events.every(({ revision }, i) => revision >= (events[i - 1]?.revision ?? start))).toBe(true)
    })

    it("has told everything by the time the writer hears of it", async () => {
      await fresh()
      let last = 0
      store.watch("/", store.revision(), ({ revision }) => {
        last = revision
      })
      for (let n = 0; n < 20; n++) expect(await write(put("/a", n))).toBe(last)
    })

    it("is silent after close", async () => {
      await fresh()
      const events: StoreEvent[] = []
      const watch = store.watch("/", store.revision(), event => events.push(event))
      await write(put("/a", 1))
      watch.close()
      await write(put("/a", 2))
      expect(events).toHaveLength(1)
    })

    it("waits for its revision where that is still to come", async () => {
      await fresh()
      const first = await write(put("/a", 0))
      const events: number[] = []
      store.watch("/", first + 2, event => events.push(event.revision))
      await write(put("/a", 1))
      await write(put("/a", 2))
      const third = await write(put("/a", 3))
      expect(events.every(revision => revision > first + 2)).toBe(true)
      expect(events.at(-1)).toBe(third)
    })

    it("throws where events are forgotten, and only there", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/a", 2))
      await write(put("/a", 3))
      await store.compact(second)
      expect(() => store.watch("/", first, () => undefined)).toThrow(CompactedError)
      const events: StoreEvent[] = []
      store.watch("/", second, event => events.push(event))
      expect(events.map(({ entry, previous }) => [entry?.object.n, previous?.object.n])).toEqual([[3, 2]])
    })

    it("neither repeats nor skips for whoever begins to watch while a change is told", async () => {
      await fresh()
      const start = store.revision()
      const fromHere: StoreEvent[] = []
      const fromStart: StoreEvent[] = []
      let here = 0
      store.watch("/", start, () => {
        if (here > 0) return
        here = store.revision()
        store.watch("/", here, event => fromHere.push(event))
        store.watch("/", start, event => fromStart.push(event))
      })
      const all = await Promise.all(Array.from({ length: 10 }, (_, n) => write(put(`/${n}`, n))))
      expect(fromStart.map(({ key }) => key).sort()).toEqual(all.map((_, n) => `/${n}`).sort())
      expect(fromHere.map(({ key }) => key)).toEqual(
        fromStart.filter(({ revision }) => revision > here).map(({ key }) => key),
      )
    })

    it("joins a list without a seam while writers are at work", async () => {
      await fresh()
      let writing = true
      const writer = (async () => {
        for (let n = 0; writing; n++) await write(put(`/w/${n % 7}`, n), { key: `/w/${(n + 3) % 7}`, delete: true })
      })()
      const views: { state: Map<string, string> }[] = []
      for (let i = 0; i < 10; i++) {
        const { entries, revision } = await store.range({ prefix: "/w/" })
        const state = new Map(entries.map(({ key, value }) => [key, value]))
        store.watch("/w/", revision, ({ key, entry, previous }) => {
          expect(previous?.value).toBe(state.get(key))
          if (entry === undefined) state.delete(key)
          else state.set(key, entry.value)
        })
        views.push({ state })
      }
      writing = false
      await writer
      const final = (await store.range({ prefix: "/w/" })).entries.map(({ key, value }) => [key, value])
      for (const { state } of views)
        expect([...state].sort(([a], [b]) => ((a ?? "") < (b ?? "") ? -1 : 1))).toEqual(final)
    })
  })

  describe("compact", () => {
    it("keeps the newest of everything and may be asked twice, too early and too late", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      await write(put("/b", 1))
      await write({ key: "/b", delete: true })
      const last = await write(put("/a", 2))
      await store.compact(last + 1000)
      expect(store.compactedRevision()).toBe(last)
      await store.compact(last)
      await store.compact(first)
      expect(store.compactedRevision()).toBe(last)
      expect(store.revision()).toBe(last)
      expect(keysOf(await store.range({ prefix: "/" }))).toEqual(["/a"])
      await reopen()
      expect(store.compactedRevision()).toBe(last)
      expect(() => store.watch("/", first, () => undefined)).toThrow(CompactedError)
    })

    it("in the midst of writes takes nothing back when the store is opened again", async () => {
      await fresh()
      for (let round = 0; round < 10; round++) {
        const before = await write(put("/a", round))
        const writes = [write(put("/a", round + 1)), write(put(`/b/${round}`, round))]
        // In some rounds the compaction comes before the writes are on their way, in others after.
        for (let turn = 0; turn < round % 4; turn++) await Promise.resolve()
        await Promise.all([store.compact(before), ...writes])
        const revision = store.revision()
        await reopen()
        expect(store.revision()).toBeGreaterThanOrEqual(revision)
        expect(store.compactedRevision()).toBe(before)
        const told: StoreEvent[] = []
        store.watch("/", before, event => told.push(event))
        expect(told.map(({ key }) => key).sort()).toEqual(["/a", `/b/${round}`])
      }
    })
  })

  describe("opening again", () => {
    it("finds everything, never goes back and resumes watches", async () => {
      await fresh()
      const start = await write(put("/a", 1))
      await write(put("/a", 2), put("/b", 1))
      const last = await write({ key: "/b", delete: true })
      const before = (await store.range({ prefix: "/" })).entries.map(plain)
      await reopen()
      expect(store.revision()).toBeGreaterThanOrEqual(last)
      expect((await store.range({ prefix: "/" })).entries.map(plain)).toEqual(before)
      const events: StoreEvent[] = []
      store.watch("/", start, event => events.push(event))
      expect(events.map(({ key, entry, previous }) => [key, entry?.object.n, previous?.object.n])).toEqual([
        ["/a", 2, 1],
        ["/b", 1, undefined],
        ["/b", undefined, 1],
      ])
      expect(await write(put("/c", 1))).toBeGreaterThan(last)
      expect(events.at(-1)?.key).toBe("/c")
    })

    it("says why it does not open what another version wrote", async () => {
      await fresh()
      await store.close()
      await place.setFormat(99)
      await expect(place.open()).rejects.toMatchObject({
        code: "STORE_FORMAT",
        message: expect.stringContaining("format 99"),
      })
    })
  })

  describe("close", () => {
    it("refuses writes from then on and leaves no writer waiting", async () => {
      await fresh()
      const waiting = Array.from({ length: 5 }, (_, n) =>
        store.commit([], [put("/a", n)]).then(
          () => "done",
          () => "refused",
        ),
      )
      await store.close()
      expect(await Promise.all(waiting)).toHaveLength(5)
      await expect(store.commit([], [put("/a", 9)])).rejects.toMatchObject({ code: "STORE_CLOSED" })
    })
  })

  it("behaves as the model does, whatever the history", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async steps => {
        await play(await engine.place(), steps)
      }),
      { numRuns: engine.name === "etcd" ? 40 : 150 },
    )
  }, 120_000)
}
