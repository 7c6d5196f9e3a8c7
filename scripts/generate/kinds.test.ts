// SPDX-License-Identifier: Apache-2.0
//
// The generated tables are what the generator makes of the Go modules of Kubernetes; `KUBERNETES_MODULES` says where
// those are unpacked. Without them, a manual edit of a table is still found.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { digest, generate, printed } from "./kinds.js"

const modules = process.env.KUBERNETES_MODULES
const read = (name: string): string =>
  readFileSync(join(import.meta.dirname, `../../packages/cluster/generated/${name}.json`), "utf8")
const tables = ["types", "docs", "resources", "roles"]

it("makes the committed tables again (needs KUBERNETES_MODULES)", { tags: ["needs/kubernetes-modules"] }, () => {
  for (const [name, table] of Object.entries(generate(modules ?? ""))) expect(read(name)).toBe(printed(table))
})

it.each(tables)("finds %s as it was generated: `npm run generate:kinds` writes it, nobody edits it", name => {
  const text = read(name)
  const digests = JSON.parse(read("digests")) as Record<string, string>
  expect(digests[name]).toBe(digest(text))
  expect(text).toBe(printed(JSON.parse(text) as object))
})
