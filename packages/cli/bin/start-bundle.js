// SPDX-License-Identifier: Apache-2.0
// Starts a program from the bundle that `npm run build` makes, and says what to type in a clone that has none yet.

import { existsSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"

export async function startBundle(name) {
  const program = new URL(`../bundle/${name}`, import.meta.url)
  if (existsSync(fileURLToPath(program))) return import(program)
  console.error(`${basename(name, ".js")}: not built yet; run \`npm ci && npm run build\` in ${root()} first`)
  process.exitCode = 1
}

function root() {
  return fileURLToPath(new URL("../../..", import.meta.url))
}
