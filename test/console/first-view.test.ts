// SPDX-License-Identifier: Apache-2.0
// What somebody waits for who opens the console: the page and what it loads at once, not what it loads when asked for.
// @module-tag needs/chromium

import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect, it } from "vitest"

const PAGE = "packages/console/page"
const MOST = 250 * 1024

it("is under 250 KB, packed", () => {
  const page = readFileSync(`${PAGE}/index.html`, "utf8")
  const named = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, name = ""]) => name)
  const scripts = named.filter(name => name.endsWith(".js"))
  expect(scripts.length).toBeGreaterThan(0)
  const files = [page, ...named.map(name => readFileSync(`${PAGE}/${name}`))]
  expect(files.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThan(MOST)
  for (const script of scripts) expect(readFileSync(`${PAGE}/${script}`, "utf8")).not.toContain("cm-content")
})
