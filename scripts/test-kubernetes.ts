// SPDX-License-Identifier: Apache-2.0
// Runs the suites of test/kubernetes on the cluster of KUBECONFIG, or on its own node. Arguments select files. With
// `--if-possible`, a machine that cannot run them prints a loud message and does not fail.

import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
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
const chosen = words.filter(word => !word.startsWith("--"))
const { status } = spawnSync("npx", ["vitest", "run", "--config", "test/kubernetes/vitest.config.ts", ...chosen], {
  stdio: "inherit",
})
const left = readdirSync("test/kubernetes/suites")
  .map(file => file.replace(".kube.ts", ""))
  .filter(name => chosen.length > 0 && !chosen.some(word => name.includes(word)))
if (left.length > 0) console.error(`!!! NOT RUN this time: ${left.join(", ")}; \`npm run test:kubernetes\` runs all`)
process.exit(status ?? 1)
