// SPDX-License-Identifier: Apache-2.0
//
// The error table is complete: every thrown code is in it, every code in it is thrown, and each has a fix.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { CLUSTER_ERRORS } from "./errors.js"

it.each(Object.entries(CLUSTER_ERRORS))("%s has a cause and a fix", (_, { cause, fix }) => {
  for (const text of [cause, fix]) {
    expect(text).toMatch(/^[a-z`]/)
    expect(text).not.toMatch(/\.$/)
  }
})

it("the table has all codes that are thrown and no others", () => {
  const files = execFileSync("git", ["ls-files", "*.ts"], { cwd: import.meta.dirname, encoding: "utf8" }).split("\n")
  const thrown = new Set<string>()
  for (const file of files.filter(name => name !== "" && !name.endsWith(".test.ts") && name !== "errors.ts"))
    for (const [code] of readFileSync(join(import.meta.dirname, file), "utf8").matchAll(
      /(?<=ClusterError\(\s*")[a-z-]+(?=")/g,
    ))
      thrown.add(code)
  expect([...thrown].sort()).toEqual(Object.keys(CLUSTER_ERRORS).sort())
})
