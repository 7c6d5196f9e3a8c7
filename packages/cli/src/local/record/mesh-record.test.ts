// SPDX-License-Identifier: Apache-2.0
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { dataFolder, recordOrThrow } from "./data-folder.js"
import { newRecord, readRecord, writeRecord } from "./mesh-record.js"

const record = newRecord({
  phase: "ready",
  mesh: "merlon",
  domain: "merlon.dev",
  supervisor: { pid: 1, started: "x" },
  ports: { api: 1, mesh: 2, webhook: 3, health: 4 },
  workloads: [],
  ingressPorts: [],
  processes: [],
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "record-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe("the record of a mesh", () => {
  it("is read as it was written, by its owner only", () => {
    writeRecord(folder, record)
    expect(readRecord(folder)).toEqual(record)
    expect(statSync(join(folder, "mesh.json")).mode & 0o077).toBe(0)
  })

  test.each(["", "{", "[]", '{"version": 99}'])("%j is not a record", text => {
    writeFileSync(join(folder, "mesh.json"), text)
    expect(readRecord(folder)).toBeUndefined()
  })

  it("names no processes in a copy of the folder, because they belong to the original mesh", () => {
    const running = { pid: process.pid, started: "x", name: "a", program: "b", since: "", restarts: 0 }
    const original = join(folder, "a")
    writeRecord(original, { ...record, processes: [running] })
    cpSync(original, join(folder, "b"), { recursive: true })
    expect(readRecord(join(folder, "b"))).toEqual({ ...record, phase: "stopped" })
    renameSync(original, join(folder, "c"))
    expect(readRecord(join(folder, "c"))).toEqual({ ...record, processes: [running] })
  })

  it("of a stopped mesh cannot be used", () => {
    writeRecord(folder, { ...record, phase: "stopped" })
    expect(() => recordOrThrow(folder)).toThrow(/is not running; .*merlonctl up/)
    expect(() => recordOrThrow(join(folder, "none"))).toThrow(/no local mesh in/)
  })
})

describe("the data folder", () => {
  it("is the one that is named", () => {
    expect(dataFolder({ data: "a b" }, "/x")).toBe("/x/a b")
  })

  it("is the nearest ancestor with a mesh", () => {
    writeRecord(join(folder, ".merlon"), record)
    const below = join(folder, "a", "b")
    mkdirSync(below, { recursive: true })
    expect(dataFolder({}, below)).toBe(join(folder, ".merlon"))
  })

  it("is not one of another user", () => {
    writeRecord(join(folder, ".merlon"), record)
    const below = join(folder, "a")
    expect(dataFolder({}, below, (process.getuid?.() ?? 0) + 1)).toBe(join(below, ".merlon"))
  })

  it("is in the current folder if there is no mesh", () => {
    expect(dataFolder({}, join(folder, "a"))).toBe(join(folder, "a", ".merlon"))
  })
})
