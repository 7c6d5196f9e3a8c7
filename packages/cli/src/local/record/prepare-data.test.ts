// SPDX-License-Identifier: Apache-2.0
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { prepareData } from "./prepare-data.js"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "data-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

it("makes the folder and its new parents accessible to its owner only", () => {
  prepareData(join(folder, "a", "b"))
  expect(statSync(join(folder, "a", "b")).mode & 0o777).toBe(0o700)
})

it("removes write access of others from a folder", () => {
  chmodSync(folder, 0o777)
  prepareData(folder)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

it("rejects a folder of another user, who could replace its files", () => {
  const somebody = statSync(folder).uid + 1
  expect(() => prepareData(folder, somebody)).toThrow(/cannot keep anything in .*belongs to another user.*--data/)
})

it("reports a file in place of the folder", () => {
  const file = join(folder, "file")
  writeFileSync(file, "")
  expect(() => prepareData(join(file, "a"))).toThrow(/cannot keep anything in .*ENOTDIR.*--data/)
})
