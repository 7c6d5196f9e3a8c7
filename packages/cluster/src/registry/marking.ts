// SPDX-License-Identifier: Apache-2.0
// The effect of deletion on a stored object, as a value: the marks it gets, and whether anything still blocks it. All
// deletions use this code: those of clients, of the garbage collector and of terminating namespaces.

import type { Behaviour, DeleteOptions } from "../kinds/behaviour.js"
import { isDeleting, metaOf } from "../meta/object-meta.js"
import { asStrings, clone, type JsonObject } from "../value.js"
import { printTime } from "../wire/go-time.js"

export const ORPHAN = "orphan"
export const FOREGROUND = "foregroundDeletion"

/** Returns the stored object with its deletion marks. */
export function marked(
  behaviour: Behaviour,
  stored: JsonObject,
  options: DeleteOptions,
  clockMillis: number,
): JsonObject {
  const object = clone(stored)
  const meta = metaOf(object)
  object.metadata = meta
  const time = (seconds: number): string =>
    printTime({ micros: BigInt(Math.floor(clockMillis)) * 1000n + BigInt(seconds) * 1_000_000n })
  const finalizers = propagationFinalizers(asStrings(meta.finalizers), options)
  if (finalizers.length > 0) meta.finalizers = finalizers
  else delete meta.finalizers
  if (behaviour.mark !== undefined) {
    behaviour.mark(object, time(0))
    return object
  }
  const grace = behaviour.grace?.(object, options) ?? 0
  const earlier = meta.deletionGracePeriodSeconds
  if (meta.deletionTimestamp === undefined) {
    meta.deletionTimestamp = time(grace)
    meta.deletionGracePeriodSeconds = grace
    if (typeof meta.generation === "number" && meta.generation > 0) meta.generation++
  } else if (typeof earlier === "number" && grace < earlier) {
    meta.deletionTimestamp = time(grace)
    meta.deletionGracePeriodSeconds = grace
  }
  return object
}

/** Whether an object that is being deleted can be removed, because nothing holds it any more. */
export function finished(behaviour: Behaviour, object: JsonObject): boolean {
  if (!isDeleting(object)) return false
  const meta = metaOf(object)
  if (asStrings(meta.finalizers).length > 0 || behaviour.held?.(object) === true) return false
  const grace = meta.deletionGracePeriodSeconds
  return grace === undefined || grace === 0
}

function propagationFinalizers(existing: readonly string[], options: DeleteOptions): string[] {
  const rest = existing.filter(name => name !== ORPHAN && name !== FOREGROUND)
  if (options.orphanDependents === true || options.propagationPolicy === "Orphan") return [...rest, ORPHAN]
  if (options.propagationPolicy === "Foreground") return [...rest, FOREGROUND]
  if (options.orphanDependents === false || options.propagationPolicy === "Background") return rest
  return [...existing]
}
