// SPDX-License-Identifier: Apache-2.0
// The address of an object or a list of them, as every Kubernetes API spells it.

import type { ResourceType } from "./resource-type.js"

export interface Place {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

export type Query = { readonly [name: string]: string | number | boolean | undefined }

export function resourcePath(
  { group, version, plural, namespaced }: ResourceType,
  place: Place,
  query: Query = {},
): string {
  const { namespace, name, subresource } = place
  if (namespaced && name !== undefined && namespace === undefined) {
    throw new TypeError(`an object of \`${plural}\` has a namespace: name it`)
  }
  const steps = group === "" ? ["api", version] : ["apis", group, version]
  if (namespaced && namespace !== undefined) steps.push("namespaces", namespace)
  steps.push(plural)
  if (name !== undefined) steps.push(name)
  // A subresource may have several steps; a name never has.
  const path = `/${steps.map(encodeURIComponent).join("/")}${subresource === undefined ? "" : `/${subresource}`}`
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  const search = parameters.toString()
  return search === "" ? path : `${path}?${search}`
}
