// SPDX-License-Identifier: Apache-2.0
// The embedded store. LevelDB has the newest version of each key (`k`), the log of changes by revision (`l`) and a
// metadata record (`m`). Concurrent writers share one synced batch. A change reaches memory and watchers only after it
// is on disk, so no client ever sees a change that a crash could undo. The store opens only if every acknowledged
// change is present.

import { mkdir } from "node:fs/promises"
import { ClassicLevel } from "classic-level"
import { ClusterError } from "../../errors.js"
import { messageOf } from "../../message-of.js"
import { compareKeys } from "../key-order.js"
import {
  CompactedError,
  type Compare,
  Entry,
  FutureRevisionError,
  type RangeRequest,
  type RangeResult,
  type Store,
  type StoreEvent,
  type Watch,
  type Write,
} from "../store.js"
import { type Contents, type Database, isEmpty, readContents } from "./contents.js"
import { HighWaterMark } from "./high-water-mark.js"
import { KeySpace } from "./key-space.js"
import { isLocked } from "./locked.js"
import { logKey, toRecord } from "./log-record.js"
import { EMPTY, FIRST_FORMAT, FORMAT, META_KEY, type Meta, metaText, readMeta } from "./meta.js"
import { objectKey, objectText, replaced, seal } from "./record.js"
import { rewrite } from "./rewrite.js"

/** The number of changes kept for watchers and paged lists, whatever their age. */
const MAX_LOG = 100_000
/** The minimum time between two attempts to reopen the database. */
const RECOVERY_PAUSE_MS = 500
/** The number of damages that an error names. */
const MAX_NAMED = 5

interface Pending {
  readonly compares: readonly Compare[]
  readonly writes: readonly Write[]
  readonly resolve: (revision: number | undefined) => void
  readonly reject: (error: unknown) => void
}

interface Watcher {
  readonly prefix: string
  readonly after: number
  listener(event: StoreEvent): void
}

export const databaseIn = (folder: string): Database =>
  new ClassicLevel(folder, { keyEncoding: "utf8", valueEncoding: "utf8" })

/** Tests pass `makeDatabase` to simulate a failing disk. */
export async function openEmbeddedStore(folder: string, makeDatabase = databaseIn): Promise<Store> {
  // The store contains Secrets, and LevelDB creates its files readable for all users.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const isFirst = HighWaterMark.read(folder) === undefined
  // A database that is not opened in the tick that created it opens itself with default options. It would then create a
  // folder that all users can read, or an empty store in place of a lost one.
  const db = makeDatabase(folder)
  try {
    // If there was a store before, LevelDB must not create an empty one over its remaining files.
    await db.open({ createIfMissing: isFirst })
  } catch (error) {
    if (!isFirst && !isLocked(error)) throw damagedStore(folder, [describe(error)])
    throw new ClusterError("store-locked", `cannot open the store in \`${folder}\`: ${describe(error)}`, {
      cause: error,
    })
  }
  try {
    const { meta, contents } = await readStore(db, folder)
    const keys = new KeySpace()
    for (const entry of contents.objects) keys.load(entry)
    return new EmbeddedStore(folder, db, meta, keys, [...contents.log])
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Reads the whole store. Fails closed: throws if anything acknowledged is missing. */
async function readStore(db: Database, folder: string): Promise<{ readonly meta: Meta; readonly contents: Contents }> {
  const mark = HighWaterMark.read(folder)
  if (mark === "damaged") throw damagedStore(folder, ["the file `high-water-mark` cannot be read"])
  const meta = await readAboutStore(db, folder)
  // Since format 2 every store has a mark. Without it, an older state would be taken for the newest.
  if (mark === undefined && meta !== EMPTY && meta.format === FORMAT)
    throw damagedStore(folder, ["the file `high-water-mark` is missing"])
  const contents = await readContents(db, meta, mark ?? EMPTY.revision)
  if (contents.damage.length > 0) throw damagedStore(folder, contents.damage)
  if (meta.format === FORMAT) return { meta, contents }
  return { meta: await rewrite(db, folder, contents.objects, meta.revision), contents: { ...contents, log: [] } }
}

async function readAboutStore(db: Database, folder: string): Promise<Meta> {
  const text = await db.get(META_KEY)
  // A store that was never written has no metadata record; the high-water mark tells whether it was written.
  if (text === undefined && (await isEmpty(db))) return EMPTY
  const meta = text === undefined ? "damaged" : readMeta(text)
  if (meta === "damaged") throw damagedStore(folder, ["its record about itself is missing or damaged"])
  if (meta.format === FORMAT || meta.format === FIRST_FORMAT) return meta
  throw new ClusterError(
    "store-format",
    `the store in \`${folder}\` has format ${meta.format}, this version reads format ${FORMAT}; use the version that wrote it to export its objects`,
  )
}

function damagedStore(folder: string, damage: readonly string[]): ClusterError {
  const more = damage.length > MAX_NAMED ? `; and ${damage.length - MAX_NAMED} more` : ""
  return new ClusterError(
    "store-damaged",
    `the store in \`${folder}\` has lost acknowledged writes: ${damage.slice(0, MAX_NAMED).join("; ")}${more}. ` +
      `Restore a backup, or run \`merlond repair-store ${folder}\` to see what can be kept`,
  )
}

function unwritable(error: unknown): ClusterError {
  const message = `nothing can be written: ${describe(error)}`
  return new ClusterError("store-unwritable", message, { cause: error })
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return messageOf(cause)
}

class EmbeddedStore implements Store {
  readonly #watchers = new Set<Watcher>()
  #queue: Pending[] = []
  #flushing: Promise<void> | undefined
  #turn: Promise<void> = Promise.resolve()
  #closed = false
  #failed: ClusterError | undefined
  #recovery: Promise<void> | undefined
  #recoverAfter = 0
  readonly #mark: HighWaterMark
  /** Changes since the compacted revision. */
  #log: StoreEvent[]

  constructor(
    readonly folder: string,
    readonly db: Database,
    private meta: Meta,
    readonly keys: KeySpace,
    log: StoreEvent[],
  ) {
    this.#mark = HighWaterMark.write(folder, meta.revision)
    this.#log = log
  }

  /** There are no other servers, so all reads are recent. */
  recent(): Store {
    return this
  }

  revision(): number {
    return this.meta.revision
  }

  async reached(revision: number): Promise<boolean> {
    return revision <= this.meta.revision
  }

  compactedRevision(): number {
    return this.meta.compacted
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.keys.get(key)
  }

  async range({ prefix, revision, limit, after }: RangeRequest): Promise<RangeResult> {
    const at = revision ?? this.meta.revision
    if (at > this.meta.revision) throw new FutureRevisionError(this.meta.revision)
    let entries = this.keys.range(prefix)
    if (at < this.meta.revision) entries = this.#asOf(entries, prefix, at)
    if (after !== undefined) entries = entries.filter(entry => compareKeys(entry.key, after) > 0)
    const taken = limit === undefined || limit === 0 ? entries : entries.slice(0, limit)
    return { entries: taken, revision: at, remaining: entries.length - taken.length }
  }

  /** Undoes the changes after the revision, newest first. */
  #asOf(entries: Entry[], prefix: string, revision: number): Entry[] {
    if (revision < this.meta.compacted) throw new CompactedError(revision, this.meta.revision)
    const state = new Map(entries.map(entry => [entry.key, entry]))
    for (let i = this.#log.length - 1; i >= 0; i--) {
      const event = this.#log[i]
      if (event === undefined || event.revision <= revision) break
      if (!event.key.startsWith(prefix)) continue
      if (event.previous === undefined) state.delete(event.key)
      else state.set(event.key, event.previous)
    }
    return [...state.values()].sort((a, b) => compareKeys(a.key, b.key))
  }

  async commit(compares: readonly Compare[], writes: readonly Write[]): Promise<number | undefined> {
    if (this.#failed !== undefined && !this.#closed) await this.#recovered(this.#failed)
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new ClusterError("store-closed", "the store is closed"))
        return
      }
      this.#queue.push({ compares, writes, resolve, reject })
      this.#flushing ??= this.#flush()
    })
  }

  async #flush(): Promise<void> {
    // Writers that are ready in this tick join the batch.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const batch = this.#queue
      this.#queue = []
      const overlay = new Map<string, Entry | undefined>()
      const events: StoreEvent[] = []
      const answers: [Pending, number | undefined][] = []
      let revision = this.meta.revision
      const current = (key: string): Entry | undefined => (overlay.has(key) ? overlay.get(key) : this.keys.get(key))
      for (const pending of batch) {
        if (!pending.compares.every(({ key, modRevision }) => (current(key)?.modRevision ?? 0) === modRevision)) {
          answers.push([pending, undefined])
          continue
        }
        for (const write of pending.writes) {
          const previous = current(write.key)
          if ("delete" in write && previous === undefined) continue
          revision++
          const { key } = write
          const since = previous?.createRevision ?? revision
          const entry = "value" in write ? new Entry(key, write.value, since, revision) : undefined
          overlay.set(key, entry)
          events.push({ revision, key, entry, previous })
        }
        answers.push([pending, revision])
      }
      try {
        await this.#exclusive(async () => {
          const meta = await this.#persist(events, overlay, revision)
          this.#apply(events, overlay, meta)
        })
      } catch (error) {
        // Fail closed: a failed write is neither visible nor acknowledged. It may still have reached the disk, so its
        // revisions must not be reused: no further write until the database has been reopened and read.
        this.#failed = unwritable(error)
        for (const { reject } of [...batch, ...this.#queue]) reject(this.#failed)
        this.#queue = []
        break
      }
      for (const [pending, answer] of answers) pending.resolve(answer)
      if (this.#log.length > MAX_LOG) await this.#trim()
    }
    // In the same tick as the last check of the queue, so that a later writer starts the next flush.
    this.#flushing = undefined
  }

  /** Resolves when writes may continue. Reads are served from memory meanwhile. */
  async #recovered(failure: ClusterError): Promise<void> {
    if (this.#recovery === undefined) {
      if (Date.now() < this.#recoverAfter) throw failure
      this.#recoverAfter = Date.now() + RECOVERY_PAUSE_MS
      this.#recovery = this.#exclusive(() => this.#recover()).finally(() => (this.#recovery = undefined))
    }
    await this.#recovery.catch((error: unknown) => {
      this.#failed = unwritable(error)
      throw this.#failed
    })
  }

  /**
   * A failed batch is on disk completely or not at all. If it is on disk, it counts as written, and watchers are
   * notified now.
   */
  async #recover(): Promise<void> {
    await this.db.close()
    await this.db.open({ createIfMissing: false })
    const { meta, contents } = await readStore(this.db, this.folder)
    for (const event of contents.log.filter(({ revision }) => revision > this.meta.revision))
      this.#apply([event], new Map([[event.key, event.entry]]), { ...meta, revision: event.revision })
    this.#failed = undefined
  }

  async #trim(): Promise<void> {
    // If the disk fails here, the next write fails too and reports the error to its caller.
    await this.compact(this.#log[this.#log.length >> 1]?.revision ?? 0).catch(() => undefined)
  }

  #apply(events: StoreEvent[], overlay: Map<string, Entry | undefined>, meta: Meta): void {
    // A compaction may have advanced while the change was written to disk.
    this.meta = { ...meta, compacted: this.meta.compacted }
    for (const [key, entry] of overlay) {
      if (entry === undefined) this.keys.delete(key)
      else this.keys.put(entry)
    }
    for (const event of events) this.#publish(event)
  }

  /** Commits and compactions both rewrite the metadata record, so they run one after the other. */
  #exclusive(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #persist(events: StoreEvent[], overlay: Map<string, Entry | undefined>, revision: number): Promise<Meta> {
    if (events.length === 0) return this.meta
    const batch = this.db.batch()
    for (const event of events) {
      const key = logKey(event.revision)
      batch.put(key, seal(key, toRecord(event)))
    }
    let { tally } = this.meta
    for (const [name, entry] of overlay) {
      const key = objectKey(name)
      if (entry === undefined) batch.del(key)
      else batch.put(key, seal(key, objectText(entry)))
      tally = replaced(tally, this.keys.get(name), entry)
    }
    const meta = { ...this.meta, revision, tally }
    batch.put(META_KEY, metaText(meta))
    await batch.write({ sync: true })
    this.#mark.set(revision)
    return meta
  }

  #publish(event: StoreEvent): void {
    this.#log.push(event)
    for (const watcher of this.#watchers) {
      // A watcher that started during the batch may have received this change already.
      if (event.revision <= watcher.after || !event.key.startsWith(watcher.prefix)) continue
      try {
        watcher.listener(event)
      } catch (error) {
        // An error in a listener must not fail the write, which has already taken effect.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): Watch {
    if (after < this.meta.compacted) throw new CompactedError(after, this.meta.revision)
    if (after < this.meta.revision) {
      let low = 0
      let high = this.#log.length
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((this.#log[middle]?.revision ?? 0) <= after) low = middle + 1
        else high = middle
      }
      for (const event of this.#log.slice(low)) if (event.key.startsWith(prefix)) listener(event)
    }
    const watcher: Watcher = { prefix, after: Math.max(after, this.#log.at(-1)?.revision ?? 0), listener }
    this.#watchers.add(watcher)
    return { close: () => this.#watchers.delete(watcher) }
  }

  async compact(revision: number): Promise<void> {
    const upTo = Math.min(revision, this.meta.revision)
    if (upTo <= this.meta.compacted) return
    this.meta = { ...this.meta, compacted: upTo }
    const keep = this.#log.findIndex(event => event.revision > upTo)
    this.#log = keep < 0 ? [] : this.#log.slice(keep)
    await this.#exclusive(async () => {
      await this.db.put(META_KEY, metaText(this.meta), { sync: true })
      await this.db.clear({ gte: "l", lte: logKey(upTo) })
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#flushing
    await this.#turn
    await this.db.close()
    this.#mark.close()
  }
}
