// SPDX-License-Identifier: Apache-2.0
// Recovers what can be read of a damaged store, when the user accepts that the rest is lost. The damaged files stay
// beside the store. Revisions continue above every acknowledged revision, so no client mistakes a new one for an old
// one.

import { cp, mkdir, rename, rm } from "node:fs/promises"
import { ClassicLevel } from "classic-level"
import { ClusterError } from "../../errors.js"
import { compareKeys } from "../key-order.js"
import type { Entry } from "../store.js"
import { type Contents, type Database, readContents } from "./contents.js"
import { HighWaterMark } from "./high-water-mark.js"
import { isLocked } from "./locked.js"
import { EMPTY, META_KEY, type Meta, readMeta } from "./meta.js"
import { rewrite } from "./rewrite.js"

export interface Salvage {
  readonly damage: readonly string[]
  /** The number of objects that can be kept. */
  readonly objects: number
  /** The folder of the damaged files; undefined if nothing was changed. */
  readonly damagedFolder: string | undefined
}

/** Changes nothing unless `accept` is set. The store must not be open. */
export async function repairEmbeddedStore(folder: string, accept: boolean): Promise<Salvage> {
  await checkNotInUse(folder)
  const copy = `${folder}.repair`
  await rm(copy, { recursive: true, force: true })
  try {
    await cp(folder, copy, { recursive: true, errorOnExist: true })
    await ClassicLevel.repair(copy)
    const db: Database = new ClassicLevel(copy)
    const { contents, revision } = await salvage(db, folder)
    const objects = newestObjects(contents)
    if (!accept || contents.damage.length === 0)
      return { damage: contents.damage, objects: objects.length, damagedFolder: undefined }
    const fresh = `${folder}.repaired`
    await rm(fresh, { recursive: true, force: true })
    // The store contains Secrets, and LevelDB would create the folder readable for all users.
    await mkdir(fresh, { mode: 0o700 })
    const target: Database = new ClassicLevel(fresh)
    await target.open()
    await rewrite(target, fresh, objects, revision + 1)
    await target.close()
    const damagedFolder = `${folder}.damaged-${revision}`
    await rename(folder, damagedFolder)
    await rename(fresh, folder)
    return { damage: contents.damage, objects: objects.length, damagedFolder }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

async function checkNotInUse(folder: string): Promise<void> {
  const db = new ClassicLevel(folder)
  try {
    await db.open({ createIfMissing: false })
    await db.close()
  } catch (error) {
    // Any other reason why it does not open is what the repair is for.
    if (isLocked(error)) throw new ClusterError("store-locked", `the store in \`${folder}\` is in use; stop its server`)
  }
}

async function salvage(
  db: Database,
  folder: string,
): Promise<{ readonly contents: Contents; readonly revision: number }> {
  const found = HighWaterMark.read(folder)
  const mark = typeof found === "number" ? found : EMPTY.revision
  try {
    const text = await db.get(META_KEY)
    const meta = text === undefined ? "damaged" : readMeta(text)
    const known: Meta = meta === "damaged" ? EMPTY : meta
    const contents = await readContents(db, known, mark)
    const damage = [
      ...(found === "damaged" || (found === undefined && text !== undefined && known.format === EMPTY.format)
        ? ["the file `high-water-mark` is missing or damaged"]
        : []),
      ...(meta === "damaged" ? ["its record about itself is missing or damaged"] : []),
      ...contents.damage,
    ]
    const revisions = [
      ...contents.objects.map(({ modRevision }) => modRevision),
      ...contents.log.map(at => at.revision),
    ]
    const revision = revisions.reduce((highest, each) => Math.max(highest, each), Math.max(mark, known.revision))
    return { contents: { ...contents, damage }, revision }
  } finally {
    await db.close()
  }
}

/** The log contains changed objects too, so an object that is missing in one place may be in the other. */
function newestObjects({ objects, log }: Contents): readonly Entry[] {
  const newest = new Map(objects.map(entry => [entry.key, entry]))
  for (const { key, revision, entry } of log) {
    if ((newest.get(key)?.modRevision ?? 0) >= revision) continue
    if (entry === undefined) newest.delete(key)
    else newest.set(key, entry)
  }
  return [...newest.values()].sort((a, b) => compareKeys(a.key, b.key))
}
