// SPDX-License-Identifier: Apache-2.0
// Applies an object without touching the fields of other managers: by server-side apply, or by a merge patch if an API
// does not support apply for the kind. If nothing differs, nothing is written.

import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import type { KubernetesObject, ResourceType } from "../kubernetes/resource-type.js"
import type { Manifest } from "./manifests.js"

export type Applied = "created" | "changed" | "unchanged"

export async function apply(
  client: KubernetesClient,
  { type, object }: Manifest,
  how: "apply" | "merge" = "apply",
): Promise<Applied> {
  const { name, namespace } = object.metadata
  const existing = await client.get<KubernetesObject>(type, name, namespace)
  if (existing !== undefined && contains(existing, object)) return "unchanged"
  if (how === "merge" && existing === undefined && (await created(client, type, object))) return "created"
  await client.patch(type, name, object, { type: how, ...(namespace === undefined ? {} : { namespace }) })
  return existing === undefined ? "created" : "changed"
}

/** Returns false if another replica created it first. */
async function created(client: KubernetesClient, type: ResourceType, object: KubernetesObject): Promise<boolean> {
  try {
    await client.create(type, object)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 409) return false
    throw error
  }
}

/**
 * Whether every wanted field has its wanted value. Lists are compared as a whole, but their members may have more
 * fields.
 */
export function contains(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) && actual.length === wanted.length && wanted.every((item, at) => contains(actual[at], item))
    )
  }
  if (typeof wanted !== "object" || wanted === null) return actual === wanted
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return false
  const fields = actual as { readonly [field: string]: unknown } // an object, as checked above
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || (Object.hasOwn(fields, name) && contains(fields[name], value)),
  )
}
