// SPDX-License-Identifier: Apache-2.0
// The one updater of generated files: CRDs and reference pages, from the definitions of the policy kinds.

import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { generatedFiles, meshNames } from "@merlon/policy"

const root = fileURLToPath(new URL("..", import.meta.url))

for (const [path, text] of generatedFiles(meshNames())) {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}
