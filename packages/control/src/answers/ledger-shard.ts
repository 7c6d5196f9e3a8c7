// SPDX-License-Identifier: Apache-2.0
// A stored shard of the ledger: calls by workload, how often each rule decided a call, and the last batch of each
// proxy, all in one value. INVARIANT: a batch is in the counts if and only if its number is here, so a batch that is
// sent again, after a restart or to another replica, counts once.

import { gunzipSync, gzipSync } from "node:zlib"
import { CallSet, type ObservedCall, readCall, writeCall } from "@merlon/policy/ledger"
import { listOf, objectOf } from "../registry/foreign.js"

export interface Batch {
  /** `namespace/name` of the Pod. */
  readonly proxy: string
  readonly run: string
  readonly sequence: number
  /** `namespace/name` of the controller that runs the Pod; all calls belong to it. */
  readonly workload: string
  readonly calls: readonly ObservedCall[]
  readonly rules: readonly RuleUse[]
  readonly forgotten: number
}

/** How often one rule was used. The rule is identified by its contents. */
export interface RuleUse {
  /** `Kind/namespace/name`. */
  readonly policy: string
  /** Digest of the rule's text: a rule that is moved keeps its count, one that is changed starts again. */
  readonly digest: string
  readonly count: number
  /** Milliseconds since the epoch. For a rule that was never used, when it was first known. */
  readonly firstSeen: number
  readonly lastSeen: number
}

const MAX_CALLS = 4_000
const MAX_CALLS_PER_WORKLOAD = 600
/** With this limit and the next, rules and proxies alone never exceed the size of a ConfigMap. */
const MAX_RULES = 8_000
const MAX_PROXIES = 5_000
const MAX_COMPRESSED = 1_000_000
const MAX_TEXT = 64 << 20
const DAY_MS = 24 * 3_600_000
/** A call that was last seen longer ago than this says nothing about the present. */
export const KEEP_CALLS_MS = 90 * DAY_MS
const KEEP_RULES_MS = 400 * DAY_MS
const KEEP_PROXIES_MS = 7 * DAY_MS

interface Taken {
  readonly run: string
  readonly sequence: number
  readonly at: number
}

export class LedgerShard {
  readonly #calls = new Map<string, CallSet>()
  readonly #rules = new Map<string, RuleUse>()
  readonly #proxies = new Map<string, Taken>()
  /** By workload: when the latest dropped call was last seen, or may have been. */
  readonly #lost = new Map<string, number>()
  #since: number | undefined
  #forgotten = 0
  #size = 0

  /** Number of call shapes that were dropped to make room, here or in proxies. */
  get forgotten(): number {
    let forgotten = this.#forgotten
    for (const set of this.#calls.values()) forgotten += set.forgotten
    return forgotten
  }

  /**
   * Since when every batch is counted here; undefined before the first batch, and if the stored shard was unreadable.
   */
  get since(): number | undefined {
    return this.#since
  }

  /** Until when calls of the workload may be missing because there was no room for them. */
  forgottenUntil(workload: string): number {
    const own = this.#calls.get(workload)?.forgottenUntil ?? Number.NEGATIVE_INFINITY
    return Math.max(own, this.#lost.get(workload) ?? Number.NEGATIVE_INFINITY)
  }

  *calls(): IterableIterator<ObservedCall> {
    for (const set of this.#calls.values()) yield* set.values()
  }

  rules(): IterableIterator<RuleUse> {
    return this.#rules.values()
  }

  has({ proxy, run, sequence }: Pick<Batch, "proxy" | "run" | "sequence">): boolean {
    const taken = this.#proxies.get(proxy)
    return taken?.run === run && taken.sequence >= sequence
  }

  /** Returns false if the batch was taken before. */
  take(batch: Batch, now: number): boolean {
    if (this.has(batch)) return false
    this.#since ??= now
    this.#proxies.set(batch.proxy, { run: batch.run, sequence: batch.sequence, at: now })
    for (const call of batch.calls) this.#add(call)
    for (const use of batch.rules) this.note(use)
    this.#forgotten = Math.min(this.#forgotten + batch.forgotten, Number.MAX_SAFE_INTEGER)
    // A proxy does not report when it last saw the calls it dropped, so it may have been just now.
    if (batch.forgotten > 0) this.#lose(batch.workload, now)
    this.#trim(now)
    return true
  }

  /** Adds to the recorded use of a rule. */
  note(use: RuleUse): void {
    const key = `${use.policy}#${use.digest}`
    const known = this.#rules.get(key)
    if (known === undefined) this.#rules.set(key, use)
    else {
      this.#rules.set(key, {
        ...known,
        count: Math.min(known.count + use.count, Number.MAX_SAFE_INTEGER),
        firstSeen: known.count === 0 && use.count > 0 ? use.firstSeen : Math.min(known.firstSeen, use.firstSeen),
        lastSeen: Math.max(known.lastSeen, use.lastSeen),
      })
    }
  }

  #add(call: ObservedCall): void {
    let set = this.#calls.get(call.workload)
    if (set === undefined) {
      set = new CallSet(MAX_CALLS_PER_WORKLOAD)
      this.#calls.set(call.workload, set)
    }
    this.#size -= set.size
    set.add(call)
    this.#size += set.size
  }

  #lose(workload: string, until: number): void {
    this.#lost.set(workload, Math.max(this.#lost.get(workload) ?? Number.NEGATIVE_INFINITY, until))
  }

  #trim(now: number): void {
    for (const [workload, until] of this.#lost) if (until < now - KEEP_CALLS_MS) this.#lost.delete(workload)
    if (this.#lost.size > MAX_CALLS) this.#beginAfterLosses()
    if (this.#size > MAX_CALLS) this.#keepNewest(MAX_CALLS - MAX_CALLS / 10)
    if (this.#rules.size > MAX_RULES) prune(this.#rules, ({ lastSeen }) => lastSeen, MAX_RULES / 2)
    if (this.#proxies.size > MAX_PROXIES) prune(this.#proxies, ({ at }) => at, MAX_PROXIES / 2)
    for (const [key, { at }] of this.#proxies) if (at < now - KEEP_PROXIES_MS) this.#proxies.delete(key)
  }

  /** Without room for every loss, observation of all workloads starts after the latest of them. */
  #beginAfterLosses(): void {
    this.#since = Math.max(this.#since ?? Number.NEGATIVE_INFINITY, ...this.#lost.values())
    this.#lost.clear()
  }

  #keepNewest(size: number): void {
    const newest = [...this.calls()].sort((a, b) => b.lastSeen - a.lastSeen)
    this.#forgotten = this.forgotten + Math.max(0, newest.length - size)
    for (const [workload, set] of this.#calls) if (set.forgotten > 0) this.#lose(workload, set.forgottenUntil)
    for (const { workload, lastSeen } of newest.slice(size)) this.#lose(workload, lastSeen)
    this.#calls.clear()
    this.#size = 0
    for (const call of newest.slice(0, size)) this.#add(call)
  }

  /** Drops the oldest calls if the shard is too large to be stored. */
  encode(now: number): Buffer {
    for (;;) {
      const bytes = gzipSync(JSON.stringify(this.#plain(now)))
      if (bytes.length <= MAX_COMPRESSED * 0.7 || this.#size === 0) return bytes
      this.#keepNewest(Math.floor(this.#size / 2))
    }
  }

  #plain(now: number) {
    return {
      calls: [...this.calls()].filter(({ lastSeen }) => lastSeen > now - KEEP_CALLS_MS).map(writeCall),
      rules: [...this.#rules.values()].filter(({ lastSeen }) => lastSeen > now - KEEP_RULES_MS),
      proxies: Object.fromEntries(this.#proxies),
      since: this.#since,
      lost: Object.fromEntries(this.#losses()),
      forgotten: this.forgotten,
    }
  }

  *#losses(): IterableIterator<readonly [string, number]> {
    for (const workload of new Set([...this.#lost.keys(), ...this.#calls.keys()])) {
      const until = this.forgottenUntil(workload)
      if (Number.isFinite(until)) yield [workload, until]
    }
  }

  /**
   * Entries that cannot be read are left out: a ledger that starts again is better than none, and `since` shows that it
   * did. `created`: when the ledger was first stored, for ledgers of versions that did not record `since`.
   */
  static decode(bytes: Uint8Array, created?: number): LedgerShard {
    const shard = new LedgerShard()
    if (bytes.length === 0 || bytes.length > MAX_COMPRESSED) return shard
    const stored = parsed(bytes)
    if (stored === undefined) return shard
    shard.#since = isCount(stored.since) ? stored.since : created
    for (const value of listOf(stored.calls)) {
      try {
        shard.#add(readCall(value))
      } catch {
        shard.#forgotten += 1
        shard.#since = undefined
      }
    }
    for (const value of listOf(stored.rules)) {
      const { policy, digest, count, firstSeen, lastSeen } = objectOf(value)
      if (typeof policy !== "string" || typeof digest !== "string") continue
      if (!isCount(count) || !isCount(firstSeen) || !isCount(lastSeen)) continue
      shard.note({ policy, digest, count, firstSeen, lastSeen })
    }
    for (const [proxy, value] of Object.entries(objectOf(stored.proxies))) {
      const { run, sequence, at } = objectOf(value)
      if (typeof run === "string" && isCount(sequence) && isCount(at)) shard.#proxies.set(proxy, { run, sequence, at })
    }
    for (const [workload, until] of Object.entries(objectOf(stored.lost))) {
      if (isCount(until)) shard.#lose(workload, until)
    }
    if (isCount(stored.forgotten)) shard.#forgotten += stored.forgotten
    return shard
  }
}

function prune<T>(map: Map<string, T>, age: (value: T) => number, size: number): void {
  const oldestFirst = [...map].sort(([, a], [, b]) => age(a) - age(b))
  for (const [key] of oldestFirst.slice(0, map.size - size)) map.delete(key)
}

function parsed(bytes: Uint8Array): { readonly [name: string]: unknown } | undefined {
  try {
    return objectOf(JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_TEXT }).toString("utf8")))
  } catch {
    return undefined
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
}
