// SPDX-License-Identifier: Apache-2.0
// The size of the first page load: the page with the scripts and styles that it loads at once. Fonts load later, and text is
// shown without them.
// @module-tag needs/chromium

import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect, it } from "vitest"

const PAGE = "packages/console/page"
const MOST = 300 * 1024

it("is at most 300 KB with gzip, and ships its fonts", () => {
  const page = readFileSync(`${PAGE}/index.html`, "utf8")
  const named = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)]
    .map(([, name = ""]) => name)
    .filter(name => !name.endsWith(".woff2"))
  const scripts = named.filter(name => name.endsWith(".js"))
  expect(scripts.length).toBeGreaterThan(0)
  const files = [page, ...named.map(name => readFileSync(`${PAGE}/${name}`))]
  const size = files.reduce((sum, file) => sum + gzipSync(file).length, 0)
  console.info(`first view: ${Math.round(size / 1024)} KB with gzip, without fonts`)
  expect(size).toBeLessThan(MOST)
  for (const script of scripts) expect(readFileSync(`${PAGE}/${script}`, "utf8")).not.toContain("cm-content")
  const styles = named.filter(name => name.endsWith(".css")).map(name => readFileSync(`${PAGE}/${name}`, "utf8"))
  const fonts = styles.join("").match(/url\([^)]*\.woff2\)/g) ?? []
  expect(fonts).toHaveLength(2)
  expect(fonts.join()).not.toContain("//")
})
