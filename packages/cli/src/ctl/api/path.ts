// SPDX-License-Identifier: Apache-2.0
// The address of an object or a list of them, as every Kubernetes API spells it.

import type { Resource } from "../catalog/resource.js"
import { usageError } from "../exit.js"

export interface Place {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

export type Query = { readonly [name: string]: string | number | boolean | undefined }

/** Throws where a name would lead elsewhere: URLs drop `.` and resolve `..`, so that a list or a namespace is meant. */
export function pathOf({ group, version, plural, namespaced }: Resource, place: Place, query: Query = {}): string {
  const { namespace, name, subresource } = place
  const steps = group === "" ? ["api", version] : ["apis", group, version]
  if (namespaced && namespace !== undefined) steps.push("namespaces", namespace)
  steps.push(plural)
  if (name !== undefined) steps.push(name)
  if (subresource !== undefined) steps.push(subresource)
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  const search = parameters.toString()
  return `/${steps.map(stepOf).join("/")}${search === "" ? "" : `?${search}`}`
}

function stepOf(step: string): string {
  // Fail closed, as Kubernetes does for every name (IsValidPathSegmentName).
  if (step === "" || step === "." || step === ".." || /[/%]/.test(step)) {
    throw usageError(`\`${step}\` is no name of an object or namespace`)
  }
  return encodeURIComponent(step)
}
