// SPDX-License-Identifier: Apache-2.0
// Everything that is generated from the definitions and committed: path in the repository to text. The script writes
// it, a test compares it.

import { stringify } from "yaml"
import type { MeshNames } from "../mesh/names.js"
import { customResourceDefinitions } from "./crd.js"
import { KINDS } from "./kinds.js"
import { referencePage } from "./reference.js"

const NOTICE = "# Written by `npm run generate` from packages/policy/src/resources. Do not edit.\n"

export function generatedFiles(names: MeshNames): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const crd of customResourceDefinitions(names)) {
    // Rules are shared between nodes; an API server reads them written out, and so do people.
    const text = stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false })
    files.set(`deploy/crds/${crd.spec.names.plural}.yaml`, NOTICE + text)
  }
  for (const definition of KINDS) {
    files.set(`docs/reference/${definition.singular}.md`, referencePage(definition, names))
  }
  return files
}
