// SPDX-License-Identifier: Apache-2.0
// The CRDs and reference pages of the policy kinds, as text by path in the repository. scripts/generate.ts writes them,
// and a test compares them.

import { customResourceDefinitions, KINDS, type MeshNames } from "@merlon/policy"
import { stringify } from "yaml"
import { referencePage } from "./reference-page.js"

const NOTICE = "# Written by `npm run generate` from packages/policy/src/resources. Do not edit.\n"

export function policyFiles(names: MeshNames): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const crd of customResourceDefinitions(names)) {
    // Rules are shared between nodes, but API servers and people read them without aliases.
    const text = stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false })
    files.set(`deploy/crds/${crd.spec.names.plural}.yaml`, NOTICE + text)
  }
  for (const definition of KINDS) {
    files.set(`docs/reference/${definition.singular}.md`, referencePage(definition, names))
  }
  return files
}
