// SPDX-License-Identifier: Apache-2.0
// Suggests existing labels for a policy whose selector selects no workload.

import { keyOf, type Pod, type Policy } from "../../api/objects.js"

export interface NearestLabel {
  /** The label in the selector, as `app=chekout`. */
  readonly wanted: string
  /** A label that exists, as `app=checkout`, and a workload that has it. */
  readonly label: string
  readonly workload: string
}

const MOST = 3

/** Undefined if the policy has no selector or selects a workload; empty if the namespace has no labels to offer. */
export function nearestLabels(
  policy: Policy,
  pods: readonly Pod[],
  rootNamespace: string,
): readonly NearestLabel[] | undefined {
  const labels = selectorOf(policy)
  if (labels === undefined || Object.keys(labels).length === 0) return undefined
  const namespace = policy.metadata.namespace ?? "default"
  const candidates = namespace === rootNamespace ? pods : pods.filter(pod => pod.metadata.namespace === namespace)
  if (candidates.some(pod => Object.entries(labels).every(([key, value]) => pod.metadata.labels?.[key] === value))) {
    return undefined
  }
  const missing = Object.entries(labels).filter(
    ([key, value]) => !candidates.some(pod => pod.metadata.labels?.[key] === value),
  )
  return missing.flatMap(([key, value]) => {
    const found = new Map<string, { readonly label: string; readonly workload: string; readonly distance: number }>()
    for (const pod of candidates) {
      for (const [name, text] of Object.entries(pod.metadata.labels ?? {})) {
        const label = `${name}=${text}`
        // Every value of the same key is nearer than a label with another key.
        const distance = distanceOf(text, value) + (name === key ? 0 : 100 + distanceOf(name, key))
        if (!found.has(label)) found.set(label, { label, workload: keyOf(pod), distance })
      }
    }
    return [...found.values()]
      .sort((a, b) => a.distance - b.distance)
      .slice(0, MOST)
      .map(({ label, workload }) => ({ wanted: `${key}=${value}`, label, workload }))
  })
}

function selectorOf({ spec }: Policy): Readonly<Record<string, string>> | undefined {
  const { matchLabels } = (spec?.selector ?? {}) as { readonly matchLabels?: unknown } // user input
  if (typeof matchLabels !== "object" || matchLabels === null) return undefined
  return Object.fromEntries(Object.entries(matchLabels).map(([key, value]) => [key, String(value)]))
}

/** The Levenshtein distance: how many letters to add, remove or change. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1]
    for (let at = 1; at <= other.length; at++) {
      const changed = (row[at - 1] ?? 0) + (other[at - 1] === one[index] ? 0 : 1)
      next.push(Math.min((row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, changed))
    }
    row = next
  }
  return row[other.length] ?? 0
}
