// SPDX-License-Identifier: Apache-2.0
// Failed writes: the disk rejects a write, or writes it and reports an error.

import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, it, vi } from "vitest"
import type { Store } from "../store.js"
import { databaseIn, openEmbeddedStore } from "./open.js"

type Trouble = "none" | "before" | "after"

const folder = mkdtempSync(join(tmpdir(), "recovery-"))
const put = (key: string, n: number) => ({ key, value: JSON.stringify({ n }) })
let store: Store

async function open(): Promise<(kind: Trouble) => void> {
  let trouble: Trouble = "none"
  store = await openEmbeddedStore(join(folder, String(Math.random())), location => {
    const db = databaseIn(location)
    const opened = db.open.bind(db)
    vi.spyOn(db, "open").mockImplementation(async () => {
      if (trouble === "before") throw new Error("No space left on device")
      await opened({})
    })
    const begun: () => ReturnType<typeof db.batch> = db.batch.bind(db)
    vi.spyOn(db, "batch").mockImplementation(() => {
      const batch = begun()
      const written = batch.write.bind(batch)
      batch.write = async () => {
        if (trouble === "before") throw new Error("No space left on device")
        await written({ sync: true })
        if (trouble === "after") throw new Error("Input/output error")
      }
      return batch
    })
    return db
  })
  return kind => {
    trouble = kind
  }
}

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

it("serves reads while writes fail, and accepts writes again when the disk has space", async () => {
  const trouble = await open()
  const events: string[] = []
  store.watch("/", store.revision(), ({ key }) => events.push(key))
  await store.commit([], [put("/a", 1)])
  trouble("before")
  const unwritable = { code: "store-unwritable", message: "nothing can be written: No space left on device" }
  for (const n of [2, 3]) await expect(store.commit([], [put("/a", n)])).rejects.toMatchObject(unwritable)
  expect((await store.get("/a"))?.object).toEqual({ n: 1 })

  trouble("none")
  await vi.waitFor(() => store.commit([], [put("/b", 4)]), { timeout: 60_000 })
  const { entries } = await store.range({ prefix: "/" })
  expect(entries.map(({ key, object }) => [key, object.n])).toEqual([
    ["/a", 1],
    ["/b", 4],
  ])
  expect(events).toEqual(["/a", "/b"])
})

it("publishes a failed write that reached the disk, and reuses no revision", async () => {
  const trouble = await open()
  const events: [string, number][] = []
  store.watch("/", store.revision(), ({ key, revision }) => events.push([key, revision]))
  const first = (await store.commit([], [put("/a", 1)])) ?? 0
  trouble("after")
  await expect(store.commit([], [put("/a", 2), put("/b", 2)])).rejects.toMatchObject({ code: "store-unwritable" })
  expect((await store.get("/a"))?.object).toEqual({ n: 1 })

  trouble("none")
  await vi.waitFor(() => store.commit([], [put("/c", 3)]), { timeout: 60_000 })
  expect((await store.get("/a"))?.object).toEqual({ n: 2 })
  expect(events).toEqual([
    ["/a", first],
    ["/a", first + 1],
    ["/b", first + 2],
    ["/c", first + 3],
  ])
})

it("opens LevelDB once, in a folder that only its owner can read", async () => {
  const options: unknown[] = []
  let mode = 0
  const location = join(folder, "private")
  store = await openEmbeddedStore(location, made => {
    mode = statSync(made).mode & 0o777
    const db = databaseIn(made)
    const opened = db.open.bind(db)
    vi.spyOn(db, "open").mockImplementation(async given => {
      options.push(given)
      await opened(given)
    })
    return db
  })
  expect(mode).toBe(0o700)
  expect(options).toEqual([{ createIfMissing: true }])
})
