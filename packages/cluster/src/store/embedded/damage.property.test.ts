// SPDX-License-Identifier: Apache-2.0
// A store with damaged files either serves everything that was acknowledged, or does not open.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClassicLevel } from "classic-level"
import fc from "fast-check"
import { afterAll, expect, inject, it } from "vitest"
import { openEmbeddedStore } from "./open.js"
import { repairEmbeddedStore } from "./repair.js"

const root = mkdtempSync(join(tmpdir(), "damage-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const put = (key: string, n: number) => ({ key, value: JSON.stringify({ n, text: "x".repeat(n * 7) }) })
let folders = 0
const fresh = (): string => join(root, String(folders++))

/** The files after a crash: everything acknowledged is on disk, some of it in tables and some only in the log. */
async function crashed(): Promise<{ readonly folder: string; readonly served: string }> {
  const folder = fresh()
  const before = await openEmbeddedStore(folder)
  for (let n = 0; n < 20; n++) await before.commit([], [put(`/old/${n % 7}`, n)])
  await before.compact(before.revision() - 5)
  await before.close()
  const store = await openEmbeddedStore(folder)
  for (let n = 0; n < 12; n++) await store.commit([], [put(`/new/${n}`, n), put(`/old/${n % 3}`, n + 100)])
  await store.commit([], [{ key: "/old/6", delete: true }])
  const copy = fresh()
  cpSync(folder, copy, { recursive: true })
  const served = await everything(store)
  await store.close()
  return { folder: copy, served }
}

async function everything(store: Awaited<ReturnType<typeof openEmbeddedStore>>): Promise<string> {
  const { entries, revision } = await store.range({ prefix: "/" })
  return JSON.stringify([revision, entries.map(({ key, value, modRevision }) => [key, modRevision, value])])
}

/** The contents that a damaged copy serves, or "not opened" if the store reports missing writes. */
async function servedBy(folder: string): Promise<string> {
  try {
    const store = await openEmbeddedStore(folder)
    const found = await everything(store)
    await store.close()
    return found
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^store-(damaged|format)$/) })
    return "not opened"
  }
}

const RECORDS = /\.(log|ldb)$|^(MANIFEST|CURRENT|high-water-mark)/

it("serves all acknowledged data or does not open, whatever is damaged", async () => {
  const { folder, served } = await crashed()
  const files = readdirSync(folder).filter(name => RECORDS.test(name))
  expect(files.some(name => name.endsWith(".log")) && files.some(name => name.endsWith(".ldb"))).toBe(true)
  let rejected = 0
  const damage = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    bit: fc.integer({ min: 0, max: 7 }),
    cut: fc.boolean(),
  })
  const harmed = fc.asyncProperty(damage, async ({ file, at, bit, cut }) => {
    const copy = fresh()
    cpSync(folder, copy, { recursive: true })
    const path = join(copy, file)
    const bytes = readFileSync(path)
    const offset = Math.floor(at * bytes.length)
    if (cut) truncateSync(path, offset)
    else {
      bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit)
      writeFileSync(path, bytes)
    }
    const found = await servedBy(copy)
    if (found === "not opened") {
      rejected++
      // The second attempt must fail too, although LevelDB has discarded the unreadable parts by then.
      expect(await servedBy(copy)).toBe("not opened")
    } else expect(found).toBe(served)
    rmSync(copy, { recursive: true, force: true })
  })
  await fc.assert(harmed, { numRuns: 200 * inject("effort") })
  expect(rejected).toBeGreaterThan(0)
}, 600_000)

it.each(["k/old/5", "l0000000000001f"])("does not open when the record `%s` was changed", async key => {
  const { folder } = await crashed()
  const db = new ClassicLevel<string, string>(folder)
  const record = (await db.get(key)) ?? ""
  await db.put(key, record.replace("xxx", "yxx"))
  await db.close()
  await expect(openEmbeddedStore(folder)).rejects.toThrow(`the record \`${key}\` does not match its checksum`)
})

it("does not open without its files, instead of creating an empty store", async () => {
  const { folder } = await crashed()
  for (const name of readdirSync(folder)) if (name !== "high-water-mark") rmSync(join(folder, name))
  expect(await servedBy(folder)).toBe("not opened")
})

it("names the missing revisions and the command that accepts the loss", async () => {
  const { folder } = await crashed()
  for (const name of readdirSync(folder)) if (name.endsWith(".log")) truncateSync(join(folder, name), 200)
  await expect(openEmbeddedStore(folder)).rejects.toMatchObject({
    code: "store-damaged",
    message: expect.stringMatching(/revision \d+ was acknowledged, but the newest in the store is \d+.*repair-store/),
  })
})

it("repairs a store, keeps the damaged files and reuses no revision", async () => {
  const { folder, served } = await crashed()
  const [highest] = JSON.parse(served)
  for (const name of readdirSync(folder)) if (name.endsWith(".log")) truncateSync(join(folder, name), 1_000)
  const looked = await repairEmbeddedStore(folder, false)
  expect(looked.damage.length).toBeGreaterThan(0)
  expect(await servedBy(folder)).toBe("not opened")

  const { damagedFolder } = await repairEmbeddedStore(folder, true)
  expect(readdirSync(damagedFolder ?? "")).toContain("high-water-mark")
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const store = await openEmbeddedStore(folder)
  expect(store.revision()).toBeGreaterThan(highest)
  expect(await store.get("/old/5")).toMatchObject({ object: { n: 19 } })
  expect(await store.get("/new/11")).toBeUndefined()
  await store.close()
})

it("does not repair a store that is in use, and does not change an intact one", async () => {
  const { folder, served } = await crashed()
  const store = await openEmbeddedStore(folder)
  await expect(repairEmbeddedStore(folder, true)).rejects.toMatchObject({ code: "store-locked" })
  await store.close()
  expect(await repairEmbeddedStore(folder, true)).toMatchObject({ damage: [], damagedFolder: undefined })
  expect(await servedBy(folder)).toBe(served)
})

it("opens a store of format 1, whose records have no checksums, and rewrites it", async () => {
  const folder = fresh()
  const db = new ClassicLevel<string, string>(folder)
  const [a, b] = ['{"n":1}', '{"n":2}']
  await db.batch([
    { type: "put", key: "k/a", value: `2 3 ${b}` },
    { type: "put", key: "l00000000000002", value: JSON.stringify({ k: "/a", v: a, c: 2 }) },
    { type: "put", key: "l00000000000003", value: JSON.stringify({ k: "/a", v: b, c: 2, pv: a, pc: 2, pm: 2 }) },
    { type: "put", key: "m", value: JSON.stringify({ format: 1, revision: 3, compacted: 1 }) },
  ])
  await db.close()
  for (let opening = 0; opening < 2; opening++) {
    const store = await openEmbeddedStore(folder)
    expect(await store.get("/a")).toMatchObject({ createRevision: 2, modRevision: 3, object: { n: 2 } })
    expect(store.revision()).toBe(3)
    await store.close()
  }
})

it("does not open a store of format 1 with a missing change", async () => {
  const folder = fresh()
  const db = new ClassicLevel<string, string>(folder)
  await db.batch([
    { type: "put", key: "k/a", value: '2 2 {"n":1}' },
    { type: "put", key: "l00000000000002", value: JSON.stringify({ k: "/a", v: '{"n":1}', c: 2 }) },
    { type: "put", key: "m", value: JSON.stringify({ format: 1, revision: 3, compacted: 1 }) },
  ])
  await db.close()
  expect(await servedBy(folder)).toBe("not opened")
})
