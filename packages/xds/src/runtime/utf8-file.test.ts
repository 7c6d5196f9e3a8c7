// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { readBootstrap } from "../member/bootstrap.js"
import { readUtf8File } from "./utf8-file.js"

const folder = mkdtempSync(join(tmpdir(), "utf8-file-"))
const file = join(folder, "file.yaml")
afterAll(() => rmSync(folder, { recursive: true }))

it("reads UTF-8", () => {
  writeFileSync(file, "café")
  expect(readUtf8File(file)).toBe("café")
})

it("rejects other bytes, and so does the program whose configuration it is", () => {
  writeFileSync(file, Buffer.from("name: café", "latin1"))
  expect(() => readUtf8File(file)).toThrow(/not in UTF-8/)
  expect(() => readBootstrap(file, {})).toThrow(/not in UTF-8/)
})
