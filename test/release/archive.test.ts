// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/tar
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { Entry } from "../../scripts/image/tar.js"
import { file, tarGz } from "../../scripts/release/archive.js"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "archive-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const long = `${"a".repeat(60)}/${"b".repeat(60)}/c`
const entries: readonly Entry[] = [
  file("top/program", "run", true),
  { path: "top/link", kind: "link", target: "program" },
  file(`top/${long}`, "x".repeat(1_000)),
  file("top/empty", ""),
]

it("can be read by tar", () => {
  writeFileSync(join(folder, "a.tgz"), tarGz(entries))
  execFileSync("tar", ["-xzf", "a.tgz"], { cwd: folder })
  const at = (path: string): string => join(folder, "top", path)
  expect(readFileSync(at("program"), "utf8")).toBe("run")
  expect([statSync(at("program")).mode & 0o777, statSync(at("empty")).mode & 0o777]).toEqual([0o755, 0o644])
  expect(readlinkSync(at("link"))).toBe("program")
  expect([statSync(at(long)).size, statSync(at("empty")).size]).toEqual([1_000, 0])
})

it("has the same bytes whatever the order of its entries", () => {
  expect(tarGz([...entries].reverse()).equals(tarGz(entries))).toBe(true)
})
