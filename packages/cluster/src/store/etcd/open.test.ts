// SPDX-License-Identifier: Apache-2.0
//
// Behaviour that only the etcd store has: several servers on one state, and correct results of writes when the
// connection to etcd fails. The common behaviour is tested in ../conformance.test.ts.

import { eventually } from "@merlon/wire/testing"
import { afterEach, describe, expect, it } from "vitest"
import { CompactedError, type Store, type StoreEvent } from "../store.js"
import { EtcdProcess } from "../testing/etcd-process.js"
import { Gate } from "../testing/gate.js"
import { type EtcdOptions, openEtcdStore } from "./open.js"

const put = (key: string, n: number): { key: string; value: string } => ({ key, value: JSON.stringify({ n }) })
const numbers = (events: StoreEvent[]): unknown[] => events.map(({ entry }) => entry?.object.n)

describe("etcd store and the connection to etcd (needs etcd)", { tags: ["needs/etcd"] }, () => {
  const cleanUps: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  const etcd = async (flags: readonly string[] = []): Promise<EtcdProcess> => {
    const server = await EtcdProcess.start({ flags })
    cleanUps.push(() => server.stop())
    return server
  }
  const gateTo = async (server: EtcdProcess): Promise<Gate> => {
    const gate = await Gate.to(server.port)
    cleanUps.push(() => gate.close())
    return gate
  }
  const open = async (endpoints: readonly string[], options: Partial<EtcdOptions> = {}): Promise<Store> => {
    const store = await openEtcdStore({ endpoints, ...options })
    cleanUps.push(() => store.close())
    return store
  }

  /**
   * The timeout is so short that a test can wait for it. Opening may take longer on a busy machine, so it is retried.
   */
  const openWithShortTimeout = async (endpoint: string): Promise<Store> => {
    let store: Store | undefined
    await eventually(
      async () => {
        store = await open([endpoint], { timeoutMs: 300 }).catch(() => undefined)
        return store !== undefined
      },
      { what: "etcd is up" },
    )
    return store as Store // set, or `eventually` throws
  }

  it("shows each server the writes of the others, at once to readers and in order to watchers", async () => {
    const server = await etcd()
    const one = await open([server.endpoint])
    const two = await open([server.endpoint])
    const events: StoreEvent[] = []
    two.watch("/", two.revision(), event => events.push(event))
    for (let n = 0; n < 20; n++) {
      const revision = await one.commit([], [put("/a", n)])
      expect(await two.get("/a")).toMatchObject({ object: { n }, modRevision: revision })
      expect((await two.range({ prefix: "/" })).entries[0]).toMatchObject({ object: { n } })
      expect(await one.reached(revision ?? 0)).toBe(true)
      expect(await two.reached(revision ?? 0)).toBe(true)
      expect(await two.commit([{ key: "/a", modRevision: (revision ?? 0) - 1 }], [put("/a", -1)])).toBeUndefined()
    }
    expect(numbers(events)).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  it("serves recent reads locally, with its own writes at once and with unknown keys looked up", async () => {
    const server = await etcd()
    const gate = await gateTo(server)
    const one = await open([server.endpoint])
    const two = await open([gate.endpoint])
    const recent = two.recent()
    await two.commit([], [put("/a", 1)])
    expect(await recent.get("/a")).toBe(await two.get("/a"))
    await one.commit([], [put("/b", 1)])
    expect(await recent.get("/b")).toMatchObject({ object: { n: 1 } })
    await eventually(async () => (await recent.range({ prefix: "/" })).entries.length === 2, {
      what: "the recent store has both entries",
    })
    gate.silent = true
    expect(await recent.get("/a")).toMatchObject({ object: { n: 1 } })
    expect((await recent.range({ prefix: "/b" })).entries).toHaveLength(1)
  })

  it("stays within its prefix", async () => {
    const server = await etcd()
    const one = await open([server.endpoint], { prefix: "/one" })
    const other = await open([server.endpoint], { prefix: "/on" })
    const received: StoreEvent[] = []
    other.watch("", other.revision(), event => received.push(event))
    await one.commit([], [put("/a", 1)])
    await other.commit([], [put("/b", 1)])
    expect((await other.range({ prefix: "" })).entries.map(({ key }) => key)).toEqual(["/b"])
    expect(received.map(({ key }) => key)).toEqual(["/b"])
  })

  it("lists and watches without gaps while other clients write to the same etcd", async () => {
    const server = await etcd()
    const store = await open([server.endpoint])
    await store.commit([], [put("/a", 1)])
    await server.put("/foreign", "x")
    const { entries, revision } = await store.range({ prefix: "/" })
    expect(entries.map(({ key }) => key)).toEqual(["/a"])
    const events: StoreEvent[] = []
    store.watch("/", revision, event => events.push(event))
    await store.commit([], [put("/a", 2)])
    expect(numbers(events)).toEqual([2])
  })

  it("advances its revision while only other clients write, so that bookmarks continue", async () => {
    const server = await etcd(["--experimental-watch-progress-notify-interval", "50ms"])
    const store = await open([server.endpoint])
    const before = store.revision()
    await server.put("/foreign", "x")
    await eventually(() => store.revision() > before, { what: "the store has the later revision" })
  })

  it("resumes its watch after every lost connection without gap or repetition", async () => {
    const server = await etcd()
    const gate = await gateTo(server)
    const writer = await open([server.endpoint])
    const reader = await open([gate.endpoint])
    const events: StoreEvent[] = []
    reader.watch("/", reader.revision(), event => events.push(event))
    for (let n = 0; n < 200; n++) {
      await writer.commit([], [put(`/${n % 3}`, n), put("/both", n)])
      if (n % 20 === 0) gate.cut()
      if (n % 50 === 0) await eventually(() => numbers(events).includes(n), { what: `the watch has event ${n}` })
    }
    await eventually(() => reader.revision() >= writer.revision(), { what: "the reader has the writer's revision" })
    expect(numbers(events)).toEqual(Array.from({ length: 200 }, (_, n) => [n, n]).flat())
  })

  it("reports a write whose response was lost as uncertain, and writes it once", async () => {
    const server = await etcd()
    const gate = await gateTo(server)
    const direct = await open([server.endpoint])
    const store = await open([gate.endpoint])
    const events: StoreEvent[] = []
    direct.watch("/", direct.revision(), event => events.push(event))
    gate.muteAnswers = true
    const outcome = store.commit([], [put("/a", 1)]).then(
      () => "done",
      error => error.code,
    )
    await eventually(() => events.length > 0, { what: "the watch has an event" })
    gate.cut()
    gate.muteAnswers = false
    expect(await outcome).toBe("store-uncertain")
    expect(await store.commit([{ key: "/a", modRevision: 0 }], [put("/a", 2)])).toBeUndefined()
    expect(await store.get("/a")).toMatchObject({ object: { n: 1 } })
    expect(numbers(events)).toEqual([1])
  })

  it("times out on a connection without responses", async () => {
    const server = await etcd()
    const gate = await gateTo(server)
    const store = await openWithShortTimeout(gate.endpoint)
    gate.silent = true
    await expect(store.commit([], [put("/a", 1)])).rejects.toMatchObject({ code: "store-uncertain" })
    await expect(store.get("/a")).rejects.toMatchObject({ code: "store-unreachable" })
    await expect(store.range({ prefix: "/" })).rejects.toMatchObject({ code: "store-unreachable" })
  })

  it("reports that nothing was written without a connection, and recovers when it is back", async () => {
    const server = await etcd()
    const store = await openWithShortTimeout(server.endpoint)
    const events: StoreEvent[] = []
    store.watch("/", store.revision(), event => events.push(event))
    await server.kill()
    const rejected = new Set<string>()
    // The first call may still use the closing connection.
    for (let n = 0; n < 3; n++) rejected.add(await store.commit([], [put("/a", n)]).then(String, error => error.code))
    expect(rejected).toContain("store-unreachable")
    await expect(store.get("/a")).rejects.toMatchObject({ code: "store-unreachable" })
    await server.launch()
    await eventually(
      () =>
        store.commit([], [put("/a", 7)]).then(
          () => true,
          () => false,
        ),
      { what: "a write is committed after the restart" },
    )
    await eventually(() => numbers(events).at(-1) === 7, { what: "the watch has the write" })
  })

  it("does not open without etcd, and reports the reason", async () => {
    const server = await etcd()
    await server.kill()
    await expect(open([server.endpoint], { timeoutMs: 300 })).rejects.toMatchObject({ code: "store-unreachable" })
    await expect(open([])).rejects.toMatchObject({ code: "invalid-flag" })
    await expect(open(["etcd"])).rejects.toMatchObject({ code: "invalid-flag" })
  })

  it("fails over to the next endpoint, for readers and watchers", async () => {
    const server = await etcd()
    const first = await gateTo(server)
    const second = await gateTo(server)
    const writer = await open([server.endpoint])
    const store = await open([first.endpoint, second.endpoint])
    const events: StoreEvent[] = []
    store.watch("/", store.revision(), event => events.push(event))
    await writer.commit([], [put("/a", 1)])
    await first.close()
    await writer.commit([], [put("/a", 2)])
    expect(await store.get("/a")).toMatchObject({ object: { n: 2 } })
    await eventually(() => events.length === 2, { what: "the watch has two events" })
    await first.open()
    await second.close()
    await writer.commit([], [put("/a", 3)])
    await eventually(() => events.length === 3, { what: "the watch has three events" })
    first.silent = true
    await second.open()
    expect(await store.get("/a")).toMatchObject({ object: { n: 3 } })
    expect(numbers(events)).toEqual([1, 2, 3])
  })

  it("brings watchers up to date if history was compacted during a disconnect", async () => {
    const server = await etcd()
    const gate = await gateTo(server)
    const writer = await open([server.endpoint])
    const store = await open([gate.endpoint])
    await writer.commit([], [put("/same", 0), put("/changed", 0), put("/gone", 0), put("/again", 0)])
    await eventually(() => store.revision() >= writer.revision(), { what: "the store has the writer's revision" })
    const before = store.revision()
    const events: StoreEvent[] = []
    store.watch("/", before, event => events.push(event))
    await gate.close()
    await writer.commit([], [{ key: "/again", delete: true }])
    for (let n = 1; n <= 3; n++) await writer.commit([], [put("/changed", n)])
    await writer.commit([], [{ key: "/gone", delete: true }, put("/new", 1)])
    await writer.commit([], [put("/again", 1)])
    await writer.compact(writer.revision())
    await gate.open()
    await eventually(() => store.revision() >= writer.revision(), { what: "the store has the writer's revision" })
    expect(events.map(({ key, entry, previous }) => [key, previous?.object.n, entry?.object.n])).toEqual([
      ["/changed", 0, 3],
      ["/new", undefined, 1],
      ["/again", 0, undefined],
      ["/again", undefined, 1],
      ["/gone", 0, undefined],
    ])
    expect(() => store.watch("/", before, () => undefined)).toThrow(CompactedError)
    await writer.commit([], [put("/same", 1)])
    await eventually(() => events.at(-1)?.key === "/same", { what: "the watch has the last key" })
  })

  it("distinguishes rejections by etcd from connection errors", async () => {
    const server = await etcd()
    const store = await open([server.endpoint])
    const big = { key: "/big", value: JSON.stringify({ text: "x".repeat(3_000_000) }) }
    await expect(store.commit([], [big])).rejects.toMatchObject({ code: "store-rejected" })
    const many = Array.from({ length: 129 }, (_, n) => put(`/${n}`, n))
    await expect(store.commit([], many)).rejects.toMatchObject({ code: "store-rejected" })
    expect((await store.range({ prefix: "" })).entries).toEqual([])
  })
})
