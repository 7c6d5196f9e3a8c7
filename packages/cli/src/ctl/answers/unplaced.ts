// SPDX-License-Identifier: Apache-2.0
// Policies that change and select no workload of the input. The namespace or the labels may be mistyped, and the answer
// does not cover the effect of such a policy.

import { isDeepStrictEqual } from "node:util"
import type { MeshConfig } from "@merlon/policy/mesh"
import { concerns, type ProofWorkload } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { idOf } from "./cluster-set.js"
import type { InputLog } from "./inputs.js"

/**
 * Logs added, changed and deleted policies of namespaces without workloads. Returns a line for each one that selects none
 * of the workloads of its namespaces, before and after the change: what it does elsewhere is not part of the answer.
 */
export function logUnplaced(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  log: InputLog,
): readonly string[] {
  const { rootNamespace } = mesh.names
  const [was, is] = [before, after].map(set => new Map(set.map(document => [idOf(document), document])))
  const places = new Set([rootNamespace, ...workloads.map(({ namespace }) => namespace)])
  const unselected: string[] = []
  for (const id of new Set([...after, ...before].map(idOf))) {
    const [old, young] = [was?.get(id), is?.get(id)]
    const versions = [old, young].flatMap(one => one ?? [])
    const [{ kind, metadata }] = versions as [PolicyDocument] // each id is of one of the sets
    if (kind === "MeshService" || isSame(old, young)) continue
    if (!places.has(metadata.namespace)) {
      log.skip(`${id}: no workload of namespace \`${metadata.namespace}\` was read`)
    } else if (kind !== "PolicyInvariant" && !versions.some(one => workloads.some(on => concerns(one, on, mesh)))) {
      const how = old === undefined ? "is added" : young === undefined ? "is deleted" : "changes"
      unselected.push(`${id} ${how}, and selects none of the workloads that were read`)
    }
  }
  return unselected
}

/** Both versions of policies that are added, changed or deleted. */
export function changedPolicies(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
): readonly PolicyDocument[] {
  const [was, is] = [before, after].map(set => new Map(set.map(document => [idOf(document), document])))
  return [
    ...before.filter(old => !isSame(old, is?.get(idOf(old)))),
    ...after.filter(young => !isSame(was?.get(idOf(young)), young)),
  ]
}

function isSame(one: PolicyDocument | undefined, other: PolicyDocument | undefined): boolean {
  return (
    one !== undefined &&
    other !== undefined &&
    isDeepStrictEqual([one.spec, one.metadata.annotations], [other.spec, other.metadata.annotations])
  )
}
