// SPDX-License-Identifier: Apache-2.0
// Migrates from client-side to server-side apply. Client-side apply stores the applied configuration in an annotation,
// under its own manager. When kubectl applies on the server, it takes these fields over without a conflict unless they
// were changed since. The annotation stays correct for users who still apply on the client.

import { metaOf } from "../../meta/object-meta.js"
import { asObject, asString, isObject, type JsonObject } from "../../value.js"
import { JsonSyntaxError, parseJson, stringify } from "../../wire/json.js"
import type { ApplyType } from "./apply-type.js"
import { FieldSet } from "./field-set.js"
import { compare, toFieldSet } from "./typed.js"

const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
/** Only kubectl's own manager takes fields over; clients that want conflicts use another one. */
const MANAGER = "kubectl"

function lastApplied(object: JsonObject | undefined): JsonObject | undefined {
  const text = asString(asObject(metaOf(object ?? {}).annotations)[ANNOTATION])
  if (text === "") return undefined
  try {
    const { value } = parseJson(text)
    return isObject(value) ? value : undefined
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    // Fail closed: with an unreadable annotation no field is taken over.
    return undefined
  }
}

/** Fields of a live object that the manager may take from others without a conflict. */
export function yielded(type: ApplyType, live: JsonObject | undefined, manager: string): FieldSet {
  const applied = manager === MANAGER ? lastApplied(live) : undefined
  if (applied === undefined || live === undefined || applied.apiVersion !== live.apiVersion) return new FieldSet()
  const { added, modified, removed } = compare(type, applied, live)
  // Fields that differ from the annotation were changed by another client, which owns them.
  return toFieldSet(type, applied).difference(modified).difference(added).difference(removed)
}

/** Returns the applied object with its annotation updated, if it has one. */
export function refreshLastApplied(
  live: JsonObject | undefined,
  applied: JsonObject,
  configuration: JsonObject,
  manager: string,
): JsonObject {
  if (manager !== MANAGER || lastApplied(live) === undefined) return applied
  const meta = metaOf(applied)
  const annotations = { ...asObject(meta.annotations), [ANNOTATION]: `${stringify(configuration)}\n` }
  return { ...applied, metadata: { ...meta, annotations } }
}
