// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { readPrivateFile, writePrivateFile } from "./private-file.js"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "private-file-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

it("is written completely", () => {
  writePrivateFile(folder, "key", "one")
  writePrivateFile(folder, "key", "two")
  expect(readPrivateFile(folder, "key")).toBe("two")
  expect(readdirSync(folder)).toEqual(["key"])
})

it("leaves no part of a key behind if it cannot be moved into place", () => {
  mkdirSync(join(folder, "key"))
  writeFileSync(join(folder, "key", "in the way"), "")
  expect(() => writePrivateFile(folder, "key", "secret")).toThrow()
  expect(readdirSync(folder)).toEqual(["key"])
})
