// SPDX-License-Identifier: Apache-2.0
// The etcd store, for several API servers on one state. Writes are etcd transactions, acknowledged once etcd has them
// on a majority of disks. A read asks etcd for its revision. It is served from the replica if that is as recent,
// otherwise by etcd, so a read never misses an acknowledged write.

import { ClusterError } from "../../errors.js"
import { compareKeys } from "../key-order.js"
import {
  CompactedError,
  type Compare,
  type Entry,
  FutureRevisionError,
  type RangeRequest,
  type RangeResult,
  type Store,
  type StoreEvent,
  type Watch,
  type Write,
} from "../store.js"
import { Calls } from "./calls.js"
import { Connection, type EtcdOptions } from "./connection.js"
import { isCompacted, isFuture, readFailure } from "./failure.js"
import { Feed } from "./feed.js"
import { forgottenRevision } from "./forgotten-revision.js"
import { KeyNames } from "./key-names.js"
import { encodeCompaction } from "./messages.js"
import { Replica } from "./replica.js"

export type { EtcdOptions } from "./connection.js"

const FORMAT = "1"
const DEFAULT_PREFIX = "/merlon"
/**
 * The number of earlier changes that are read at startup, so that watchers can resume across a restart of this process.
 */
const HISTORY = 10_000
/** The feed is usually a millisecond behind. If it lags longer, another program writes to the same etcd. */
const FEED_LAG_MS = 50

export async function openEtcdStore(options: EtcdOptions): Promise<Store> {
  const names = new KeyNames(options.prefix ?? DEFAULT_PREFIX)
  const calls = new Calls(new Connection(options), names)
  try {
    await checkFormat(calls)
    return await EtcdStore.start(calls)
  } catch (error) {
    calls.connection.close()
    throw error
  }
}

async function checkFormat({ names, txn, range }: Calls): Promise<void> {
  // Only the first server writes the marker; if several start at once, only one of them.
  const made = await txn({
    compares: [{ key: names.format, modRevision: 0 }],
    success: [{ key: names.format, value: FORMAT }],
  })
  if (made.succeeded) return
  const format = (await range({ key: names.format })).kvs[0]?.value
  if (format === FORMAT) return
  throw new ClusterError(
    "store-format",
    `the store in etcd under \`${names.all.key}\` has format ${format}, this version reads format ${FORMAT}; use the version that wrote it to export its objects`,
  )
}

class EtcdStore implements Store {
  #closed = false

  private constructor(
    readonly calls: Calls,
    readonly replica: Replica,
    readonly feed: Feed,
  ) {}

  static async start(calls: Calls): Promise<EtcdStore> {
    const { connection, names } = calls
    // A write of our own: when the feed delivers it, the replica is up to date.
    const tick = await calls.txn({ compares: [], success: [{ key: names.tick, value: new Date().toISOString() }] })
    const base = Math.max(await forgottenRevision(connection, names), tick.revision - HISTORY, 1)
    const replica = new Replica()
    try {
      replica.load((await calls.readAll(names.all, base)).state, base)
    } catch (error) {
      if (!isCompacted(error)) throw readFailure(error)
      // etcd was compacted after `forgottenRevision`, so the store starts without history.
      const { state, revision } = await calls.readAll(names.all)
      replica.load(state, revision)
    }
    const feed = new Feed(connection, names, replica, () => calls.readAll(names.all))
    const store = new EtcdStore(calls, replica, feed)
    if (await replica.reach(tick.revision, connection.timeoutMs)) return store
    await store.close()
    throw new ClusterError("store-unreachable", "etcd responds, but its watch sends no events")
  }

  recent(): Store {
    return {
      recent() {
        return this
      },
      // A missing object may just have been created through another server, and its creator may rely on it.
      get: async key => this.replica.get(key) ?? (await this.get(key)),
      range: async request => (request.revision === undefined ? this.#rangeHere(request) : await this.range(request)),
      commit: (compares, writes) => this.commit(compares, writes),
      watch: (prefix, after, listener) => this.watch(prefix, after, listener),
      revision: () => this.revision(),
      reached: revision => this.reached(revision),
      compactedRevision: () => this.compactedRevision(),
      compact: revision => this.compact(revision),
      close: () => this.close(),
    }
  }

  revision(): number {
    return this.replica.revision
  }

  async reached(revision: number): Promise<boolean> {
    if (revision <= this.replica.revision) return true
    this.#mustBeOpen()
    try {
      if (revision > (await this.#newestRevision())) return false
    } catch (error) {
      throw readFailure(error)
    }
    await this.replica.reach(revision, FEED_LAG_MS)
    return true
  }

  /** The newest revision that a majority has; no client has seen a later one. */
  async #newestRevision(): Promise<number> {
    return (await this.calls.range({ key: this.calls.names.format, keysOnly: true })).revision
  }

  compactedRevision(): number {
    return this.replica.floor
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#mustBeOpen()
    try {
      const { kvs } = await this.calls.range({ key: this.calls.names.toEtcd(key) })
      return kvs[0] === undefined ? undefined : this.replica.share({ ...kvs[0], key })
    } catch (error) {
      throw readFailure(error)
    }
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#mustBeOpen()
    try {
      if (request.revision !== undefined) return await this.#rangeInEtcd(request)
      const caughtUp = await this.replica.reach(await this.#newestRevision(), FEED_LAG_MS)
      if (!caughtUp) return await this.#rangeInEtcd(request)
      return this.#rangeHere(request)
    } catch (error) {
      if (isCompacted(error)) throw new CompactedError(request.revision ?? 0, this.replica.revision)
      if (isFuture(error)) throw new FutureRevisionError(this.replica.revision)
      throw readFailure(error)
    }
  }

  #rangeHere({ prefix, limit, after }: RangeRequest): RangeResult {
    let entries = this.replica.range(prefix)
    if (after !== undefined) entries = entries.filter(({ key }) => compareKeys(key, after) > 0)
    const taken = limit === undefined || limit === 0 ? entries : entries.slice(0, limit)
    return { entries: taken, revision: this.replica.revision, remaining: entries.length - taken.length }
  }

  async #rangeInEtcd({ prefix, revision, limit, after }: RangeRequest): Promise<RangeResult> {
    // A revision that this server has compacted must not be read from etcd: one client would get two different results
    // for the same continue token.
    if (revision !== undefined && revision < this.replica.floor)
      throw new CompactedError(revision, this.replica.revision)
    const range = this.calls.names.range(prefix, after)
    if (limit === undefined || limit === 0) {
      const whole = await this.calls.readAll(range, revision)
      return { entries: whole.state.map(kv => this.replica.share(kv)), revision: whole.revision, remaining: 0 }
    }
    const page = await this.calls.range({ ...range, limit, ...(revision === undefined ? {} : { revision }) })
    const entries: Entry[] = []
    for (const kv of page.kvs) {
      const key = this.calls.names.fromEtcd(kv.key)
      if (key !== undefined) entries.push(this.replica.share({ ...kv, key }))
    }
    return { entries, revision: revision ?? page.revision, remaining: page.count - page.kvs.length }
  }

  async commit(compares: readonly Compare[], writes: readonly Write[]): Promise<number | undefined> {
    this.#mustBeOpen()
    const { names } = this.calls
    const { succeeded, changed, revision } = await this.calls.txn({
      compares: compares.map(({ key, modRevision }) => ({ key: names.toEtcd(key), modRevision })),
      success: writes.map(write => ({ ...write, key: names.toEtcd(write.key) })),
    })
    this.feed.hurry()
    if (!succeeded) return undefined
    // Waits so that `revision()` and lists of this server include the write. It is durable and acknowledged in any
    // case.
    await this.replica.reach(revision, changed ? this.calls.connection.timeoutMs : FEED_LAG_MS)
    return revision
  }

  watch(prefix: string, after: number, listener: (event: StoreEvent) => void): Watch {
    return this.replica.watch(prefix, after, listener)
  }

  async compact(revision: number): Promise<void> {
    this.#mustBeOpen()
    const upTo = Math.min(revision, this.replica.revision)
    if (upTo <= this.replica.floor) return
    try {
      await this.calls.connection.repeatedly("/etcdserverpb.KV/Compact", encodeCompaction(upTo), () => true)
    } catch (error) {
      // Another server has compacted up to this revision or beyond.
      if (!isCompacted(error)) throw readFailure(error)
    }
    this.replica.forget(upTo)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.feed.close()
    this.replica.close()
    this.calls.connection.close()
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ClusterError("store-closed", "the store is closed")
  }
}
