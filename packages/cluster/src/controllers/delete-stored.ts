// SPDX-License-Identifier: Apache-2.0
//
// Deletes an object on behalf of the server itself, whatever its kind: gone at once when no finalizer holds it,
// otherwise marked. No grace is given, since no node runs anything here.

import { isDeleting, metaOf } from "../meta/object-meta.js"
import type { Entry, Store } from "../store/store.js"
import { asStrings, clone } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"

/** true when the object is gone or was changed by somebody else meanwhile. */
export async function deleteStored(store: Store, entry: Entry, clock: () => number): Promise<boolean> {
  const finalizers = asStrings(metaOf(entry.object).finalizers)
  const { key } = entry
  if (finalizers.length === 0) {
    await store.commit([{ key, modRevision: entry.modRevision }], [{ key, delete: true }])
    return true
  }
  if (isDeleting(entry.object)) return false
  const object = clone(entry.object)
  const meta = metaOf(object)
  meta.deletionTimestamp = now(clock)
  meta.deletionGracePeriodSeconds = 0
  if (typeof meta.generation === "number") meta.generation++
  object.metadata = meta
  await store.commit([{ key, modRevision: entry.modRevision }], [{ key, value: stringify(object) }])
  return false
}
