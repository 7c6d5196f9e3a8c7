// SPDX-License-Identifier: Apache-2.0
// What failed in the run before, once more and with nothing beside it. A fault fails again; what a machine did that had no time for
// three systems at once does not. Both are said, so that a test that wagers on the machine is found and mended.

import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { relative } from "node:path"

/** The machine is not to blame for more: of one of which others took three quarters, nine were. */
const MOST = 12

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

const [report = ".cache/tests.json"] = process.argv.slice(2)
const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report // as vitest writes it
const failed = testResults.filter(({ status }) => status === "failed")
if (failed.length === 0) fail("the run failed, and no test of it did")
if (failed.length > MOST) fail(`${failed.length} files failed, more than the ${MOST} that are tried again`)
for (const { name, assertionResults } of failed) {
  const tests = assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName)
  console.error(`!!! failed beside others: ${relative(".", name)}: ${tests.join("; ") || "could not be loaded"}`)
}
const files = failed.map(({ name }) => relative(".", name))
const { status } = spawnSync("npx", ["vitest", "run", "--maxWorkers", "1", ...files], { stdio: "inherit" })
if (status !== 0) fail("what failed beside others fails alone as well")
console.error("!!! all of them pass alone: look for what they wager on")

function fail(why: string): never {
  console.error(`!!! ${why}`)
  process.exit(1)
}
