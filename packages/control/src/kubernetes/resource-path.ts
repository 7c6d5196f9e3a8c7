// SPDX-License-Identifier: Apache-2.0
// The path of an object, or of a list of objects, in a Kubernetes API.

import { ApiError } from "./client.js"
import type { ResourceType } from "./resource-type.js"

export interface Place {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

export type Query = { readonly [name: string]: string | number | boolean | undefined }

/** Throws if a name would change the path. */
export function resourcePath(
  { group, version, plural, namespaced }: Pick<ResourceType, "group" | "version" | "plural" | "namespaced">,
  place: Place,
  query: Query = {},
): string {
  const { namespace, name, subresource } = place
  if (namespaced && name !== undefined && namespace === undefined) {
    throw new TypeError(`an object of \`${plural}\` needs a namespace`)
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

/**
 * The rule of Kubernetes for names (IsValidPathSegmentName). URLs drop `.` and resolve `..`, and an empty name means a
 * list.
 */
export function isPathSegment(step: string): boolean {
  return step !== "" && step !== "." && step !== ".." && !/[/%]/.test(step)
}

function encoded(step: string): string {
  // Fail closed, with the answer that the server would give.
  if (!isPathSegment(step))
    throw new ApiError(400, "BadRequest", `\`${step}\` is not the name of an object or namespace`)
  return encodeURIComponent(step)
}
