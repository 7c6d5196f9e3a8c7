// SPDX-License-Identifier: Apache-2.0
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { typedName } from "./typed-name.js"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "typed-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

function program(path: string): string {
  const file = join(folder, path, "merlonctl")
  mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(file, "")
  chmodSync(file, 0o755)
  return join(folder, path)
}

it("is its name if the shell finds it", () => {
  expect(typedName(["node", "/x/merlonctl.js"], folder, ["/nowhere", program("bin")].join(delimiter))).toBe("merlonctl")
})

it("is not its name if only npm's scripts find it", () => {
  const path = program("node_modules/.bin")
  expect(typedName(["node", "/x/merlonctl.js"], folder, path)).toBe("npx merlonctl")
})

it("is node and its path otherwise", () => {
  expect(typedName(["node", join(folder, "a b", "merlonctl.js")], folder, "")).toBe("node 'a b/merlonctl.js'")
  expect(typedName(["node", "/elsewhere/merlonctl.js"], folder, "")).toBe("node /elsewhere/merlonctl.js")
})

it("is the path of an executable", () => {
  expect(typedName([join(folder, "merlonctl")], folder, "")).toBe("./merlonctl")
})
