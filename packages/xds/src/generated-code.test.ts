// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "merlon-generated-"))

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function filesOf(path: string): ReadonlyMap<string, string> {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = entries.map(entry => join(entry.parentPath, entry.name))
  return new Map(paths.map(file => [file.slice(path.length + 1), readFileSync(file, "utf8")]))
}

it("matches the `.proto` files (update it with `npm run generate:xds`)", () => {
  const out = join(folder, "out")
  execFileSync(join(root, "node_modules/.bin/tsx"), [join(root, "scripts/generate-xds.ts"), "--out", out])
  const expected = filesOf(out)
  const committed = filesOf(join(root, "packages/xds/src/generated"))
  expect([...committed.keys()].sort()).toEqual([...expected.keys()].sort())
  for (const [path, text] of expected) expect(committed.get(path) === text, path).toBe(true)
})

it("keeps the messages of Envoy's listeners, routes and clusters out of a proxy's client", () => {
  const source = join(root, "packages/xds/src")
  const seen = new Set<string>()
  const waiting = ["index.ts", "client/delta-stream.ts", "client/calls.ts"].map(path => join(source, path))
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    for (const [, specifier] of readFileSync(path, "utf8").matchAll(
      /^(?:import|export)\s(?!type\s)[^"]*?from "(\.[^"]+)"/gm,
    )) {
      waiting.push(join(path, "..", (specifier ?? "").replace(/\.js$/, ".ts")))
    }
  }
  const heavy = [...seen].filter(path => /\/generated\/envoy\/(config\/(listener|route|cluster)|extensions)/.test(path))
  expect(seen.size).toBeGreaterThan(20)
  expect(heavy).toEqual([])
})
