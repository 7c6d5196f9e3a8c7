// SPDX-License-Identifier: Apache-2.0
// Runs the suites of test/kubernetes on the cluster of KUBECONFIG, or on a node of its own. Words name files to run
// instead of all. With `--if-possible` a machine that cannot is told so, loudly, and that is no failure.

import { spawnSync } from "node:child_process"
import { whatIsMissing } from "../test/kubernetes/node/programs.js"

const words = process.argv.slice(2)
const isOptional = words.includes("--if-possible")
const missing = (process.env.KUBECONFIG ?? "") === "" ? whatIsMissing() : []
if (missing.length > 0) {
  const rule = "!".repeat(100)
  const what = missing.map(one => `  - ${one}`).join("\n")
  console.error(
    `${rule}\nNOT RUN: the suites on a real Kubernetes. There is no KUBECONFIG, and of a node of its own is missing:\n${what}\n${rule}`,
  )
  process.exit(isOptional ? 0 : 1)
}
const args = [
  "vitest",
  "run",
  "--config",
  "test/kubernetes/vitest.config.ts",
  ...words.filter(word => !word.startsWith("--")),
]
process.exit(spawnSync("npx", args, { stdio: "inherit" }).status ?? 1)
