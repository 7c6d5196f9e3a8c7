// SPDX-License-Identifier: Apache-2.0
// Updates all generated files: CRDs, JSON Schemas, reference pages and the chart from their definitions, and the
// picture of the README's session.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { meshNames } from "@merlon/policy"
import { ARGOCD_PATCH, argocdPatch } from "./generate/argocd.js"
import { chartFiles } from "./generate/chart.js"
import { ERRORS_PAGE, errorsPage } from "./generate/errors-page.js"
import { jsonSchemas } from "./generate/json-schemas.js"
import { policyFiles } from "./generate/policy-files.js"
import { SESSION_PICTURE, sessionPicture } from "./generate/session-picture.js"

const root = fileURLToPath(new URL("..", import.meta.url))

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const readme = readFileSync(join(root, "README.md"), "utf8")
const files = [
  ...policyFiles(meshNames()),
  ...jsonSchemas(meshNames()),
  [ARGOCD_PATCH, argocdPatch(meshNames())] as const,
  ...chartFiles(version),
  [ERRORS_PAGE, errorsPage()] as const,
  [SESSION_PICTURE, sessionPicture(readme)] as const,
]
for (const [path, text] of files) {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}
