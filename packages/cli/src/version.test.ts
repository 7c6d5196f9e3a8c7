// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { VERSION } from "./version.js"

it.each(["package.json", "packages/cli/package.json"])("is that of %s", file => {
  expect(JSON.parse(readFileSync(file, "utf8")).version).toBe(VERSION)
})
