// SPDX-License-Identifier: Apache-2.0
// Subresources of a Pod that may change only one part of it. Everything else in the request is ignored, so that the
// permission for such a subresource does not allow changing the rest of the Pod.

import { asArray, asObject, clone, type Json, type JsonObject } from "../value.js"

type Narrow = (spec: JsonObject, before: JsonObject) => JsonObject

const narrow: Record<string, Narrow> = {
  ephemeralcontainers: (spec, before) => withKey(before, "ephemeralContainers", spec.ephemeralContainers),
  resize: (spec, before) => {
    let out = before
    for (const list of ["containers", "initContainers"])
      if (before[list] !== undefined) out = withKey(out, list, resized(asArray(spec[list]), asArray(before[list])))
    return out
  },
}

/** Discards changes that the subresource must not make; other subresources are not restricted. */
export function narrowUpdate(subresource: string, object: JsonObject, old: JsonObject): void {
  const change = Object.hasOwn(narrow, subresource) ? narrow[subresource] : undefined
  if (change === undefined) return
  const { resourceVersion, managedFields } = asObject(object.metadata)
  const kept = clone(old)
  let metadata = withKey(asObject(kept.metadata), "resourceVersion", resourceVersion)
  metadata = withKey(metadata, "managedFields", managedFields)
  const spec = change(asObject(object.spec), asObject(kept.spec))
  for (const key of Object.keys(object)) delete object[key]
  Object.assign(object, kept, { metadata, spec })
}

function resized(wanted: readonly Json[], before: readonly Json[]): Json[] {
  const byName = new Map(wanted.map(item => [asObject(item).name, asObject(item)]))
  return before.map(item => {
    const container = asObject(item)
    const requested = byName.get(container.name)
    if (requested === undefined) return container
    return withKey(withKey(container, "resources", requested.resources), "resizePolicy", requested.resizePolicy)
  })
}

function withKey(object: JsonObject, key: string, value: Json | undefined): JsonObject {
  const { [key]: _, ...rest } = object
  return value === undefined ? rest : { ...rest, [key]: value }
}
