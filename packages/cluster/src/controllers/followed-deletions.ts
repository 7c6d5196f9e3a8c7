// SPDX-License-Identifier: Apache-2.0
//
// Names every object of a kind that is being deleted: those that already are, then each as it comes to it, or changes.

import { isDeleting } from "../meta/object-meta.js"
import type { Store, Watch } from "../store/store.js"

export async function followDeletions(store: Store, prefix: string, found: (key: string) => void): Promise<Watch> {
  const { entries, revision } = await store.range({ prefix })
  for (const { key, object } of entries) if (isDeleting(object)) found(key)
  return store.watch(prefix, revision, ({ key, entry }) => {
    if (entry !== undefined && isDeleting(entry.object)) found(key)
  })
}
