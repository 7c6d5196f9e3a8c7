// SPDX-License-Identifier: Apache-2.0
// What a change of one policy newly allows and newly denies, in words, for a record that is read later. Its size is
// bounded; what was not proved in time is reported as undecided.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import type { Outcome } from "../outcome.js"
import { concerns } from "../selected.js"
import { lastingName, type ProofWorkload } from "../workload.js"
import type { AssessOptions, PolicyStep } from "./assess-change.js"
import type { Change } from "./compare.js"
import { type ComparedRecord, diffSets } from "./diff.js"

export interface ChangeEffect {
  readonly allowed: readonly EffectRegion[]
  readonly denied: readonly EffectRegion[]
  /** Why there may be more than the lists contain; absent if they are complete. */
  readonly undecided?: string
}

export interface EffectRegion {
  readonly region: string
  /** `namespace/name` of the controllers of a few of the workloads. */
  readonly workloads: readonly string[]
  /** How many workloads are not listed. */
  readonly more?: number
}

export interface EffectOptions extends AssessOptions {
  /** Gets each comparison with its proof. */
  readonly comparisons?: ComparedRecord
}

const MAX_REGIONS = 12
const MAX_WORKLOADS = 5
const MAX_WORDS = 300

export function changeEffect(
  step: PolicyStep,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
  options: EffectOptions,
): ChangeEffect {
  const [was, is] = setsOf(step)
  const { groups } = diffSets(was, is, touchedBy(step, workloads, mesh), mesh, options)
  const regions = (wanted: (change: Change) => boolean): readonly EffectRegion[] => {
    const found = new Map<string, Set<string>>()
    for (const { workloads: alike, comparison } of groups) {
      for (const change of comparison.changes.filter(wanted)) {
        const names = found.get(change.region) ?? new Set()
        for (const workload of alike) names.add(lastingName(workload))
        found.set(change.region, names)
      }
    }
    return [...found].map(([region, names]) => regionOf(region, [...names]))
  }
  const allowed = regions(({ from, to }) => OPENNESS[to] > OPENNESS[from])
  // If another provider now decides a request, it may be denied although it was not denied before.
  const denied = regions(({ from, to }) => OPENNESS[to] < OPENNESS[from] || (from === "custom" && to === "custom"))
  const more = Math.max(0, allowed.length - MAX_REGIONS) + Math.max(0, denied.length - MAX_REGIONS)
  const reason = groups.find(({ comparison }) => comparison.undecided !== undefined)?.comparison.undecided
  const undecided = reason ?? (more > 0 ? `${more} more regions than an entry holds` : undefined)
  return {
    allowed: allowed.slice(0, MAX_REGIONS),
    denied: denied.slice(0, MAX_REGIONS),
    ...(undecided === undefined ? {} : { undecided }),
  }
}

export function touchedBy(
  { before, after }: PolicyStep,
  workloads: readonly ProofWorkload[],
  mesh: MeshConfig,
): readonly ProofWorkload[] {
  return workloads.filter(workload =>
    [before, after].some(document => document !== undefined && concerns(document, workload, mesh)),
  )
}

/** All policies before and after the change. */
export function setsOf({ documents, before, after }: PolicyStep): [PolicyDocument[], PolicyDocument[]] {
  return [
    [...documents, ...(before === undefined ? [] : [before])],
    [...documents, ...(after === undefined ? [] : [after])],
  ]
}

const OPENNESS: Readonly<Record<Outcome, number>> = { allow: 2, custom: 1, deny: 0, unauthenticated: 0, transport: 0 }

function regionOf(words: string, names: readonly string[]): EffectRegion {
  const more = names.length - MAX_WORKLOADS
  return {
    region: words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS - 1)}…` : words,
    workloads: names.slice(0, MAX_WORKLOADS),
    ...(more > 0 ? { more } : {}),
  }
}
