// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { linkFile } from "./link-file.js"

const folder = mkdtempSync(join(tmpdir(), "link-file-"))
afterAll(() => rmSync(folder, { recursive: true }))

it("keeps the link out of the path and from other users", () => {
  const path = linkFile(join(folder, "private"), "http://127.0.0.1:7080/#/sign-in?code=SECRET")
  expect(path).not.toContain("SECRET")
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, "utf8")).toContain('url=http://127.0.0.1:7080/#/sign-in?code=SECRET"')
})
