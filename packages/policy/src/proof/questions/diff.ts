// SPDX-License-Identifier: Apache-2.0
// The effect of a policy change on a mesh, workload by workload. Workloads that are selected by the same documents before
// and after share one comparison.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import { sameDocuments } from "../certificate/digest.js"
import { notModelled, notReplayable } from "../certificate/modelled.js"
import { Proofs } from "../certificate/proofs.js"
import { DocumentsByNamespace } from "../selected.js"
import type { ProofWorkload } from "../workload.js"
import { type CompareOptions, type Comparison, compareSets } from "./compare.js"

export interface DiffGroup {
  readonly workloads: readonly ProofWorkload[]
  readonly comparison: Comparison
}

export interface Diff {
  readonly result: Comparison["result"]
  /** Only the groups that are not proved equal. */
  readonly groups: readonly DiffGroup[]
  /** The number of comparisons, which workloads share. */
  readonly comparisons: number
}

export interface DiffOptions extends Omit<CompareOptions, "proofs"> {
  /** Gets each comparison with its proof. */
  readonly comparisons?: ComparedRecord | undefined
}

export interface ComparedRecord {
  /** How many characters the proofs of one comparison may have; if absent, the limit of certificates. */
  readonly maxProof?: number
  compared(workloads: readonly ProofWorkload[], comparison: Comparison, proofs: Proofs): void
}

export function diffSets(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  { comparisons, ...options }: DiffOptions,
): Diff {
  const { meshBefore = mesh, pool } = options
  const [old, young] = [new DocumentsByNamespace(before, meshBefore), new DocumentsByNamespace(after, mesh)]
  const groups = new Map<string, { workloads: ProofWorkload[]; sets: readonly (readonly PolicyDocument[])[] }>()
  for (const workload of workloads) {
    const [was, is] = [old.selected(workload), young.selected(workload)]
    const key = JSON.stringify([was.key, is.key, workload.ports ?? []])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { workloads: [workload], sets: [was.documents, is.documents] })
    else group.workloads.push(workload)
  }
  const compared: DiffGroup[] = []
  for (const { workloads: alike, sets } of groups.values()) {
    const [first] = alike
    if (first === undefined) continue
    const gap = comparisons && notCertified(sets, mesh, meshBefore, pool)
    const proofs = comparisons && new Proofs(gap, notReplayable(sets.flat()), comparisons.maxProof)
    const comparison = compareSets(sets[0] ?? [], sets[1] ?? [], first, mesh, { ...options, proofs })
    if (proofs !== undefined) comparisons?.compared(alike, comparison, proofs)
    if (comparison.result !== "equal") compared.push({ workloads: alike, comparison })
  }
  return { result: resultOf(compared), groups: compared, comparisons: groups.size }
}

function notCertified(
  sets: readonly (readonly PolicyDocument[])[],
  mesh: MeshConfig,
  meshBefore: MeshConfig,
  pool: CompareOptions["pool"],
): string | undefined {
  if (pool === "promoted") return "certificates do not treat policies in shadow mode as enforced"
  if (meshBefore !== mesh) return "certificates compare sets of one mesh"
  const [before = [], after = []] = sets
  const isSame = mesh.dialect === undefined && sameDocuments(before, after)
  return isSame ? undefined : notModelled(sets.flat(), mesh)
}

function resultOf(groups: readonly DiffGroup[]): Comparison["result"] {
  if (groups.some(({ comparison }) => comparison.result === "different")) return "different"
  return groups.length > 0 ? "undecided" : "equal"
}
