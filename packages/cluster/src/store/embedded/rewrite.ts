// SPDX-License-Identifier: Apache-2.0
// Rewrites a store from its objects, in the current format and without history: watchers have to list again.

import type { Entry } from "../store.js"
import type { Database } from "./contents.js"
import { HighWaterMark } from "./high-water-mark.js"
import { logKey } from "./log-record.js"
import { FORMAT, META_KEY, type Meta, metaText } from "./meta.js"
import { NO_OBJECTS, objectKey, objectText, replaced, seal } from "./record.js"

export async function rewrite(
  db: Database,
  folder: string,
  objects: readonly Entry[],
  revision: number,
): Promise<Meta> {
  const tally = objects.reduce((sum, entry) => replaced(sum, undefined, entry), NO_OBJECTS)
  const meta: Meta = { format: FORMAT, revision, compacted: revision, tally }
  // Written before the first record of this format, because a store of this format without a mark counts as damaged.
  HighWaterMark.write(folder, revision).close()
  const batch = db.batch()
  for (const entry of objects) {
    const key = objectKey(entry.key)
    batch.put(key, seal(key, objectText(entry)))
  }
  batch.put(META_KEY, metaText(meta))
  await batch.write({ sync: true })
  await db.clear({ gte: "l", lte: logKey(revision) })
  return meta
}
