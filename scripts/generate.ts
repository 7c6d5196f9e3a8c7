// SPDX-License-Identifier: Apache-2.0
// The one updater of generated files: CRDs, reference pages and the chart, from their definitions; the README's session as a
// picture.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { chartFiles } from "@merlon/control"
import { generatedFiles, meshNames } from "@merlon/policy"
import { FAULTS_PAGE, faultsPage } from "./faults-page.js"
import { SESSION_PICTURE, sessionPicture } from "./session-picture.js"

const root = fileURLToPath(new URL("..", import.meta.url))

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const readme = readFileSync(join(root, "README.md"), "utf8")
const files = [
  ...generatedFiles(meshNames()),
  ...chartFiles(version),
  [FAULTS_PAGE, faultsPage()] as const,
  [SESSION_PICTURE, sessionPicture(readme)] as const,
]
for (const [path, text] of files) {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}
