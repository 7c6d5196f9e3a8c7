// SPDX-License-Identifier: Apache-2.0
//
// One behavioural suite over all stores: writes, and reads of current and past revisions.

import { describe, expect, it } from "vitest"
import { CompactedError, FutureRevisionError, type StoreEvent } from "./store.js"
import { keysOf, overEngines, put } from "./testing/bench.js"

overEngines(bench => {
  const { fresh, reopen, write } = bench

  describe("commit", () => {
    it("creates, replaces and deletes, and returns distinct revisions", async () => {
      await fresh()
      expect(await bench.store.get("/a")).toBeUndefined()
      const first = await write(put("/a", 1))
      expect(await bench.store.get("/a")).toMatchObject({
        key: "/a",
        createRevision: first,
        modRevision: first,
        object: { n: 1 },
      })
      const second = await write(put("/a", 2))
      expect(second).toBeGreaterThan(first)
      expect(await bench.store.get("/a")).toMatchObject({
        createRevision: first,
        modRevision: second,
        object: { n: 2 },
      })
      await write({ key: "/a", delete: true })
      expect(await bench.store.get("/a")).toBeUndefined()
      const again = await write(put("/a", 3))
      expect(await bench.store.get("/a")).toMatchObject({ createRevision: again, modRevision: again })
    })

    it("writes nothing and notifies no watch if a compare fails", async () => {
      await fresh()
      const events: StoreEvent[] = []
      const made = await write(put("/a", 1))
      bench.store.watch("", made, event => events.push(event))
      expect(await bench.store.commit([{ key: "/a", modRevision: 0 }], [put("/a", 2)])).toBeUndefined()
      expect(await bench.store.commit([{ key: "/a", modRevision: made - 1 }], [put("/a", 2)])).toBeUndefined()
      expect(await bench.store.commit([{ key: "/b", modRevision: made }], [put("/b", 2)])).toBeUndefined()
      expect(bench.store.revision()).toBe(made)
      expect(await bench.store.get("/a")).toMatchObject({ object: { n: 1 } })
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
      expect(await bench.store.commit(compares, [put("/a", 2), put("/b", 2)])).toBeUndefined()
      expect(await bench.store.get("/b")).toBeUndefined()
      const done = await bench.store.commit(
        [{ key: "/a", modRevision: made }],
        [put("/a", 2), put("/b", 2), { key: "/c", delete: true }],
      )
      expect(keysOf(await bench.store.range({ prefix: "/" }))).toEqual(["/a", "/b"])
      expect(bench.store.revision()).toBeGreaterThanOrEqual(done ?? Number.NaN)
    })

    it("does not count the deletion of a missing key as a change", async () => {
      await fresh()
      const made = await write(put("/a", 1))
      const events: StoreEvent[] = []
      bench.store.watch("", made, event => events.push(event))
      expect(await write({ key: "/none", delete: true })).toBeGreaterThanOrEqual(made)
      expect(await bench.store.commit([{ key: "/a", modRevision: made }], [])).toBeGreaterThanOrEqual(made)
      expect(events).toEqual([])
    })

    it("lets exactly one of several concurrent writers win", async () => {
      await fresh()
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => bench.store.commit([{ key: "/a", modRevision: 0 }], [put("/a", n)])),
      )
      expect(answers.filter(answer => answer !== undefined)).toHaveLength(1)
      const winner = answers.findIndex(answer => answer !== undefined)
      expect(await bench.store.get("/a")).toMatchObject({ object: { n: winner }, modRevision: answers[winner] })
    })

    it("counts every increment of writers that compare and retry", async () => {
      await fresh()
      await write(put("/counter", 0))
      const increment = async (): Promise<void> => {
        for (;;) {
          const entry = await bench.store.get("/counter")
          const next = Number(entry?.object.n) + 1
          const compares = [{ key: "/counter", modRevision: entry?.modRevision ?? 0 }]
          if ((await bench.store.commit(compares, [put("/counter", next)])) !== undefined) return
        }
      }
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 5; i++) await increment()
        }),
      )
      expect(await bench.store.get("/counter")).toMatchObject({ object: { n: 40 } })
    })

    it("serves a writer that awaits each write before the next", async () => {
      await fresh()
      let last = bench.store.revision()
      for (let n = 0; n < 50; n++) {
        const revision = await write(put("/a", n))
        expect(revision).toBeGreaterThan(last)
        last = revision
      }
    })

    it("stores any text unchanged", async () => {
      await fresh()
      const value = JSON.stringify({ text: ' {"} \n\t é 漢 🜲 \u0000', long: "x".repeat(500_000) })
      await write({ key: "/odd key {1}", value })
      await reopen()
      expect((await bench.store.get("/odd key {1}"))?.value).toBe(value)
    })
  })

  it("shows this process's own writes in recent reads", async () => {
    await fresh()
    const recent = bench.store.recent()
    for (let n = 0; n < 10; n++) {
      await write(put("/a", n))
      expect(await recent.get("/a")).toMatchObject({ object: { n } })
      expect((await recent.range({ prefix: "/" })).entries.map(({ object }) => object)).toEqual([{ n }])
    }
  })

  it("knows which revisions exist", async () => {
    await fresh()
    const made = await write(put("/a", 1))
    expect(await bench.store.reached(1)).toBe(true)
    expect(await bench.store.reached(made)).toBe(true)
    expect(await bench.store.reached(made + 1000)).toBe(false)
  })

  describe("range", () => {
    it("is sorted, stays within its prefix and pages with limit and after", async () => {
      await fresh()
      for (const key of ["/b/2", "/a/1", "/b/10", "/b", "/b/1", "/c"]) await write(put(key, 1))
      expect(keysOf(await bench.store.range({ prefix: "/b/" }))).toEqual(["/b/1", "/b/10", "/b/2"])
      const page = await bench.store.range({ prefix: "/b/", limit: 2 })
      expect(keysOf(page)).toEqual(["/b/1", "/b/10"])
      expect(page.remaining).toBe(1)
      const rest = await bench.store.range({ prefix: "/b/", limit: 2, after: "/b/10", revision: page.revision })
      expect(keysOf(rest)).toEqual(["/b/2"])
      expect(rest.remaining).toBe(0)
      expect(keysOf(await bench.store.range({ prefix: "/b/", after: "/a" }))).toEqual(["/b/1", "/b/10", "/b/2"])
      expect(keysOf(await bench.store.range({ prefix: "/b/", after: "/z" }))).toEqual([])
    })

    it("has one order for all scripts, also after reopening", async () => {
      await fresh()
      const names = ["/r/a", "/r/é", "/r/ｚ", "/r/😀"]
      for (const key of [...names].reverse()) await write(put(key, 1))
      expect(keysOf(await bench.store.range({ prefix: "/r/" }))).toEqual(names)
      await reopen()
      expect(keysOf(await bench.store.range({ prefix: "/r/" }))).toEqual(names)
      const page = await bench.store.range({ prefix: "/r/", limit: 3 })
      const rest = await bench.store.range({
        prefix: "/r/",
        limit: 3,
        after: page.entries.at(-1)?.key ?? "",
        revision: page.revision,
      })
      expect([...keysOf(page), ...keysOf(rest)]).toEqual(names)
      await write({ key: "/r/😀", delete: true })
      expect(keysOf(await bench.store.range({ prefix: "/r/" }))).toEqual(names.slice(0, 3))
    })

    it("reads past revisions", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/b", 1))
      await write(put("/a", 2))
      await write({ key: "/b", delete: true })
      expect((await bench.store.range({ prefix: "/", revision: first })).entries.map(({ object }) => object)).toEqual([
        { n: 1 },
      ])
      const then = await bench.store.range({ prefix: "/", revision: second })
      expect(keysOf(then)).toEqual(["/a", "/b"])
      expect(then.revision).toBe(second)
      expect(then.entries[0]).toMatchObject({ modRevision: first, createRevision: first, object: { n: 1 } })
    })

    it("rejects future and compacted revisions", async () => {
      await fresh()
      const first = await write(put("/a", 1))
      const second = await write(put("/a", 2))
      await expect(bench.store.range({ prefix: "/", revision: second + 1000 })).rejects.toBeInstanceOf(
        FutureRevisionError,
      )
      await bench.store.compact(second)
      await expect(bench.store.range({ prefix: "/", revision: first })).rejects.toBeInstanceOf(CompactedError)
      expect(keysOf(await bench.store.range({ prefix: "/", revision: second }))).toEqual(["/a"])
    })

    it("pages through one revision while others write", async () => {
      await fresh()
      const names = Array.from({ length: 2_500 }, (_, n) => `/many/${String(n).padStart(5, "0")}`)
      for (let i = 0; i < names.length; i += 100) await write(...names.slice(i, i + 100).map(key => put(key, 0)))
      expect(keysOf(await bench.store.range({ prefix: "/many/" }))).toEqual(names)
      const first = await bench.store.range({ prefix: "/many/", limit: 700 })
      const seen = keysOf(first)
      for (let page = first; page.remaining > 0; ) {
        await write(
          { key: seen[0] ?? "", delete: true },
          put(`/many/x${seen.length}`, 1),
          put(names.at(-1) ?? "", seen.length),
        )
        page = await bench.store.range({
          prefix: "/many/",
          limit: 700,
          after: seen.at(-1) ?? "",
          revision: first.revision,
        })
        expect(page.remaining).toBe(names.length - seen.length - page.entries.length)
        seen.push(...keysOf(page))
        for (const { object } of page.entries) expect(object).toEqual({ n: 0 })
      }
      expect(seen).toEqual(names)
      expect(keysOf(await bench.store.range({ prefix: "/many/", revision: first.revision }))).toEqual(names)
    })
  })
})
