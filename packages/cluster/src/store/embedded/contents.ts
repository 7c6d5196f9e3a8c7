// SPDX-License-Identifier: Apache-2.0
// Reads and verifies the whole contents of a store: every record by its checksum, the number of objects, the continuity
// of the log's revisions, the objects that the log results in, and the newest revision by the high-water mark.

import type { ClassicLevel } from "classic-level"
import { messageOf } from "../../message-of.js"
import type { Entry, StoreEvent } from "../store.js"
import { fromRecord, logKey, revisionOf } from "./log-record.js"
import { EMPTY, FIRST_FORMAT, META_KEY, type Meta } from "./meta.js"
import { NO_OBJECTS, readObject, replaced, unseal } from "./record.js"

export type Database = ClassicLevel<string, string>

export interface Contents {
  /** Sorted by key; only intact objects. */
  readonly objects: readonly Entry[]
  /** Oldest first; only intact changes. */
  readonly log: readonly StoreEvent[]
  /** What is missing or damaged; empty if the store is intact. */
  readonly damage: readonly string[]
}

/** `mark` is the highest acknowledged revision. */
export async function readContents(db: Database, meta: Meta, mark: number): Promise<Contents> {
  const damage: string[] = []
  const objects: Entry[] = []
  const log: StoreEvent[] = []
  const text = meta.format === FIRST_FORMAT ? (_: string, record: string): string => record : unseal
  const read = async (range: { gte?: string; gt?: string; lt: string }, take: (key: string, text: string) => void) => {
    try {
      for await (const [key, record] of db.iterator(range)) {
        const intact = text(key, record)
        if (intact === undefined) damage.push(`the record \`${key}\` does not match its checksum`)
        else take(key, intact)
      }
    } catch (error) {
      // LevelDB detected the damage itself and returns no more of the range.
      damage.push(messageOf(error))
    }
  }
  await read({ gte: "k", lt: "l" }, (key, intact) => objects.push(readObject(key, intact)))
  await read({ gt: logKey(meta.compacted), lt: META_KEY }, (key, intact) =>
    log.push(fromRecord(revisionOf(key), intact)),
  )
  if (meta.revision < mark)
    damage.push(`revision ${mark} was acknowledged, but the newest in the store is ${meta.revision}`)
  damage.push(...gaps(log, meta), ...unlike(objects, log))
  const { objects: count, sum } = objects.reduce((tally, entry) => replaced(tally, undefined, entry), NO_OBJECTS)
  if (meta.format === FIRST_FORMAT) return { objects, log, damage }
  if (count !== meta.tally.objects) damage.push(`the store holds ${count} of ${meta.tally.objects} objects`)
  else if (sum !== meta.tally.sum) damage.push("the objects do not match their common checksum")
  return { objects, log, damage }
}

export async function isEmpty(db: Database): Promise<boolean> {
  return (await db.keys({ limit: 1 }).all()).length === 0
}

function gaps(log: readonly StoreEvent[], { compacted, revision: newest }: Meta): readonly string[] {
  const found: string[] = []
  // A new store begins at its first revision, which has no change.
  let last = Math.max(compacted, EMPTY.revision)
  for (const { revision } of [...log, { revision: newest + 1 }]) {
    if (revision > last + 1) found.push(`the changes of revisions ${last + 1} to ${revision - 1} are missing`)
    if (revision <= last || revision > newest + 1) found.push(`there is a change of revision ${revision} too many`)
    last = Math.max(last, revision)
  }
  return found
}

/** Objects that differ from the newest change in the log. */
function unlike(objects: readonly Entry[], log: readonly StoreEvent[]): readonly string[] {
  const revisions = new Map(objects.map(({ key, modRevision }) => [key, modRevision]))
  const newest = new Map(log.map(({ key, entry }) => [key, entry?.modRevision]))
  return [...newest].flatMap(([key, revision]) => {
    const found = revisions.get(key)
    if (found === revision) return []
    return `\`${key}\` has ${found === undefined ? "no object" : `revision ${found}`} instead of ${revision ?? "none"}`
  })
}
