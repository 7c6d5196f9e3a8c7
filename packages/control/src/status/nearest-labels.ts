// SPDX-License-Identifier: Apache-2.0
// Suggests the workload that a selector without matches most likely meant: the most similar one, if it is similar
// enough. The work is bounded, because such a selector is checked again for every new workload.

import { nearest } from "@merlon/policy/shape"
import { oneLine } from "../observe/one-line.js"

type Labels = { readonly [key: string]: string }

export interface LabelledWorkload {
  readonly key: string
  readonly labels: Labels
}

const MOST_COMPARED = 1_000
const FAR = 3

/** A phrase for users with the nearest labels and their workload. */
export function nearestLabels(wanted: Labels, workloads: Iterable<LabelledWorkload>): string | undefined {
  let best: { readonly text: string; readonly distance: number } | undefined
  let compared = 0
  const tried = new Set<string>()
  for (const { key, labels } of workloads) {
    const shape = JSON.stringify(labels)
    if (tried.has(shape)) continue
    tried.add(shape)
    if (++compared > MOST_COMPARED) break
    const found = compare(wanted, labels)
    if (found.pairs.length === 0 || (best !== undefined && found.distance >= best.distance)) continue
    best = { text: `\`${oneLine(found.pairs.join(","))}\` (\`${key}\`)`, distance: found.distance }
  }
  return best?.text
}

function compare(wanted: Labels, labels: Labels): { readonly pairs: readonly string[]; readonly distance: number } {
  const pairs: string[] = []
  let distance = 0
  for (const [key, value] of Object.entries(wanted)) {
    const near = Object.hasOwn(labels, key) ? key : nearest(key, Object.keys(labels))
    const has = near === undefined ? undefined : labels[near]
    const alike = has === value || (has !== undefined && nearest(value, [has]) !== undefined)
    if (near === undefined || !alike) {
      distance += FAR
      continue
    }
    distance += (near === key ? 0 : 1) + (has === value ? 0 : 1)
    pairs.push(`${near}=${has}`)
  }
  return { pairs, distance }
}
