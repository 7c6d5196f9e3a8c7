// SPDX-License-Identifier: Apache-2.0
// Deletes an object on behalf of the server, with the same marks and grace period as a client's deletion. An object
// without finalizers is removed at once.

import { plain } from "../kinds/behaviours/by-kind.js"
import { finished, marked } from "../registry/marking.js"
import type { Registry } from "../registry/registry.js"
import type { Entry } from "../store/store.js"
import { stringify } from "../wire/json.js"

/**
 * Returns true when the object is removed, and false if a finalizer holds it or another client changed it meanwhile.
 */
export async function deleteStored({ store, catalog, clock }: Registry, entry: Entry): Promise<boolean> {
  const behaviour = catalog.storing(entry.key)?.behaviour ?? plain
  const object = marked(behaviour, entry.object, {}, clock())
  const gone = finished(behaviour, object)
  const { key } = entry
  const value = stringify(object)
  let last = entry.modRevision
  if ((!gone || behaviour.grace !== undefined) && value !== entry.value) {
    const revision = await store.commit([{ key, modRevision: last }], [{ key, value }])
    if (revision === undefined) return false
    last = revision
  }
  return gone && (await store.commit([{ key, modRevision: last }], [{ key, delete: true }])) !== undefined
}
