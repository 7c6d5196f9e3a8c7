// SPDX-License-Identifier: Apache-2.0
// Policies that change in a namespace without workloads in the input. The namespace may be mistyped, and the answer
// does not cover the effect of such a policy.

import { isDeepStrictEqual } from "node:util"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { idOf } from "./cluster-set.js"
import type { InputLog } from "./inputs.js"

export function logUnplaced(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  { names: { rootNamespace } }: MeshConfig,
  log: InputLog,
): void {
  const known = new Map(before.map(document => [idOf(document), document]))
  const places = new Set([rootNamespace, ...workloads.map(({ namespace }) => namespace)])
  for (const document of after) {
    const { kind, metadata, spec } = document
    const was = known.get(idOf(document))
    if (places.has(metadata.namespace) || kind === "MeshService") continue
    if (was !== undefined && isDeepStrictEqual([was.spec, was.metadata.annotations], [spec, metadata.annotations]))
      continue
    log.skip(`${idOf(document)}: no workload of namespace \`${metadata.namespace}\` was read`)
  }
}
