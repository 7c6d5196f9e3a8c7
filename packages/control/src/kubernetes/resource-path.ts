// SPDX-License-Identifier: Apache-2.0
// The address of an object or a list of them, as every Kubernetes API spells it.

import { ApiError } from "./client.js"
import type { ResourceType } from "./resource-type.js"

export interface Place {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

export type Query = { readonly [name: string]: string | number | boolean | undefined }

/** Throws where a name would lead elsewhere. */
export function resourcePath(
  { group, version, plural, namespaced }: Pick<ResourceType, "group" | "version" | "plural" | "namespaced">,
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
  if (subresource !== undefined) steps.push(subresource)
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value))
  const search = parameters.toString()
  return `/${steps.map(encoded).join("/")}${search === "" ? "" : `?${search}`}`
}

/** As Kubernetes has it of every name (IsValidPathSegmentName). URLs drop `.` and resolve `..`, and without a name a list is meant. */
export function isPathSegment(step: string): boolean {
  return step !== "" && step !== "." && step !== ".." && !/[/%]/.test(step)
}

function encoded(step: string): string {
  // Fail closed, with what the server would answer.
  if (!isPathSegment(step)) throw new ApiError(400, "BadRequest", `\`${step}\` is no name of an object or namespace`)
  return encodeURIComponent(step)
}
