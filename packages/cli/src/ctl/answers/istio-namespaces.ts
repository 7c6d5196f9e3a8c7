// SPDX-License-Identifier: Apache-2.0
// The namespaces to which Istio's mesh configuration limits a mesh (`discoverySelectors`). Istio applies no policy elsewhere.

import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import type { InputLog } from "./inputs.js"

/** The label with the name of a Namespace. Kubernetes sets it. */
const NAME = "kubernetes.io/metadata.name"

/** Logs workloads in namespaces that no selector is known to select. `namespaces`: the known Namespace objects. */
export function logUndiscovered(config: Fields, namespaces: readonly Fields[], log: Pick<InputLog, "skip">): void {
  const selectors = listOf(config.discoverySelectors)
  if (selectors.length === 0) return
  const known = new Map(namespaces.map(({ metadata }) => [textOf(fieldsOf(metadata).name), fieldsOf(metadata)]))
  const isSelected = (name: string): boolean => {
    const metadata = known.get(name)
    const labels = { ...textsOf(metadata?.labels), [NAME]: name }
    return selectors.some(selector => selects(fieldsOf(selector), labels, metadata !== undefined))
  }
  log.skip(
    "the mesh configuration: `discoverySelectors` select no Namespace of the workloads, as far as its labels were read, and Istio applies no policy elsewhere",
    ({ namespace }) => !isSelected(namespace),
  )
}

/**
 * Whether the selector certainly selects the Namespace. Fail closed: without the Namespace only its name is known, so a
 * label that seems missing may be there.
 */
export function selects({ matchLabels, matchExpressions }: Fields, labels: Fields, areAllKnown: boolean): boolean {
  const isMet = ({ key, operator, values }: Fields): boolean => {
    const value = textOf(key) === undefined ? undefined : labels[String(key)]
    if (value === undefined && !areAllKnown) return false
    const isListed = value !== undefined && listOf(values).includes(value)
    switch (operator) {
      case "In":
        return isListed
      case "NotIn":
        return !isListed
      case "Exists":
        return value !== undefined
      case "DoesNotExist":
        return value === undefined
      default:
        return false
    }
  }
  const isEqual = ([key, value]: readonly [string, unknown]): boolean => labels[key] === value
  return Object.entries(fieldsOf(matchLabels)).every(isEqual) && listOf(matchExpressions).map(fieldsOf).every(isMet)
}
