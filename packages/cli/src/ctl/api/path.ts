// SPDX-License-Identifier: Apache-2.0
// The path of an object or a list, from names that a user typed.

import { isPathSegment, type Place, type Query, resourcePath } from "@merlon/control/kubernetes"
import type { Resource } from "../catalog/resource.js"
import { usageError } from "../exit.js"

export function pathOf(resource: Resource, place: Place, query: Query = {}): string {
  for (const name of [place.namespace, place.name]) {
    if (name !== undefined && !isPathSegment(name)) throw usageError(`\`${name}\` is no name of an object or namespace`)
  }
  return resourcePath(resource, place, query)
}
