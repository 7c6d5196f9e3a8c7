// SPDX-License-Identifier: Apache-2.0
// metadata.resourceVersion is the store's revision of an object. It is not part of the stored document and is added to
// responses.

import { metaOf } from "../meta/object-meta.js"
import type { JsonObject } from "../value.js"

export function withRevision(object: JsonObject, revision: number): JsonObject {
  const { name, generateName, namespace, selfLink, uid, resourceVersion: _, ...rest } = metaOf(object)
  const meta: JsonObject = {}
  // The field order of Go's ObjectMeta, because error messages quote whole objects.
  if (name !== undefined) meta.name = name
  if (generateName !== undefined) meta.generateName = generateName
  if (namespace !== undefined) meta.namespace = namespace
  if (selfLink !== undefined) meta.selfLink = selfLink
  if (uid !== undefined) meta.uid = uid
  meta.resourceVersion = `${revision}`
  return { ...object, metadata: { ...meta, ...rest } }
}

export function withoutRevision(object: JsonObject): JsonObject {
  const { resourceVersion: _, ...meta } = metaOf(object)
  return { ...object, metadata: meta }
}
