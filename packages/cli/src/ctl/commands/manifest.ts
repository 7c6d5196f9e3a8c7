// SPDX-License-Identifier: Apache-2.0
// `merlonctl manifest`: prints what an installation puts into a cluster, as YAML for kubectl or for a repository.

import { definitionManifests, installManifests } from "@merlon/control/install"
import { meshNames } from "@merlon/policy/mesh"
import { Command } from "commander"
import { stringify } from "yaml"
import { withMeshFlags } from "../flags.js"
import { givenValues, type ValuesFlags, valuesOf, withValuesFlags } from "../install/values-flags.js"
import { print } from "../terminal.js"

interface Flags extends ValuesFlags {
  readonly crds: boolean
  readonly showValues: boolean
}

export function manifestCommand(): Command {
  return withValuesFlags(withMeshFlags(new Command("manifest").description("Print the manifests of an installation")))
    .option("--no-crds", "omit the CRDs")
    .option("--show-values", "print the values, including defaults", false)
    .addHelpText("after", "\nExample:\n  merlonctl manifest --set replicas=3 | kubectl apply --server-side -f -")
    .action(async (flags: Flags) => {
      const values = valuesOf(await givenValues(flags))
      if (flags.showValues) return print(stringify(values).trimEnd())
      const kinds = flags.crds ? definitionManifests(meshNames(flags)).map(({ object }) => object) : []
      const documents = [...kinds, ...installManifests(values)]
      print(
        documents
          .map(object => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
          .join("---\n")
          .trimEnd(),
      )
    })
}
