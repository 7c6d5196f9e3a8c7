// SPDX-License-Identifier: Apache-2.0
//
// Compares the generated tables with the generator's output for the Go modules of Kubernetes; `KUBERNETES_MODULES` is
// the folder with the unpacked modules. Without them, manual edits of a table are still detected.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { digest, generate, printed } from "./kinds.js"

const modules = process.env.KUBERNETES_MODULES
const read = (name: string): string =>
  readFileSync(join(import.meta.dirname, `../../packages/cluster/generated/${name}.json`), "utf8")
const tables = ["types", "docs", "resources", "roles"]

it("generates the committed tables (needs KUBERNETES_MODULES)", { tags: ["needs/kubernetes-modules"] }, () => {
  for (const [name, table] of Object.entries(generate(modules ?? ""))) expect(read(name)).toBe(printed(table))
})

it.each(tables)("finds %s unedited: update it with `npm run generate:kinds`", name => {
  const text = read(name)
  const digests = JSON.parse(read("digests")) as Record<string, string>
  expect(digests[name]).toBe(digest(text))
  expect(text).toBe(printed(JSON.parse(text) as object))
})
