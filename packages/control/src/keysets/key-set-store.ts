// SPDX-License-Identifier: Apache-2.0
// The keys of all issuers that rules need, fetched in the background. Each issuer has its own timers and fetches, and
// none waits for another. Stored keys are used until the issuer has answered.

import { meshNames } from "@merlon/policy/mesh"
import type { JwtRule } from "@merlon/policy/resources"
import { durationMilliseconds } from "@merlon/policy/shape"
import { keySetId } from "@merlon/policy/tokens"
import { Emitter } from "@merlon/xds/runtime"
import { type Clock, systemClock } from "../observe/clock.js"
import type { FetchedKeySet, KeySetSource } from "./fetch-jwks.js"
import { FetchSlots } from "./fetch-slots.js"
import { FetchedIssuer, type GoodKeys, type KeySetDependencies } from "./fetched-issuer.js"
import { type ShareLimits, shareKeySets } from "./key-set-shares.js"
import type { KeySetState, KeySets, NeededRule } from "./key-sets.js"

const KEY_SETS_PER_NAMESPACE = 100
const DEFAULT_LIMITS: ShareLimits = {
  total: 1_000,
  perNamespace: KEY_SETS_PER_NAMESPACE,
  rootNamespace: meshNames().rootNamespace,
}
const DEFAULT_TIMEOUT = 5_000
/** A fetch never holds its slot longer than this, whatever timeout a rule sets. */
const LONGEST_TIMEOUT = 60_000

export interface FetchedKeySetsOptions {
  readonly fetch: (source: KeySetSource, signal: AbortSignal) => Promise<FetchedKeySet>
  /** Stored keys by id, if there are any. Fetching does not wait for them. */
  readonly persisted?: Promise<ReadonlyMap<string, GoodKeys>>
  readonly clock?: Clock
  readonly random?: () => number
  readonly limits?: Partial<ShareLimits>
  readonly maxConcurrentFetches?: number
  /** Called after each attempt, with its error if it failed. */
  readonly attempted?: (id: string, error: string | undefined) => void
}

export class FetchedKeySets implements KeySets {
  /**
   * Resolves once the stored keys are in use. Proxies must not be sent key sets earlier, or they would lose their keys.
   */
  readonly loaded: Promise<void>
  readonly #issuers = new Map<string, FetchedIssuer>()
  /** Ids beyond the limits, with the reason. They are never fetched, but reported. */
  #rejected: ReadonlyMap<string, string> = new Map()
  readonly #changes = new Emitter<[id: string, change: { readonly jwks: boolean }]>()
  readonly #around: KeySetDependencies
  readonly #limits: ShareLimits
  #persisted: ReadonlyMap<string, GoodKeys> = new Map()
  #needed = false

  constructor(options: FetchedKeySetsOptions) {
    const { fetch, persisted, clock = systemClock, random = Math.random } = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#around = {
      clock,
      random,
      fetch,
      slots: new FetchSlots(options.maxConcurrentFetches ?? 32),
      changed: (id, change) => this.#changed(id, change),
      ...(options.attempted === undefined ? {} : { attempted: options.attempted }),
    }
    this.loaded = Promise.resolve(persisted).then(
      kept => {
        if (kept !== undefined) this.#adopt(kept)
      },
      // Starts without stored keys then. The loader reports why it failed.
      () => undefined,
    )
  }

  /**
   * INVARIANT: call it with the rules of all policies at once; issuers that are missing here are forgotten, with their
   * keys.
   */
  need(rules: Iterable<NeededRule>): void {
    const needed = new Map<string, KeySetSource>()
    const byNamespace = new Map<string, string[]>()
    for (const { rule, namespace } of rules) {
      if (rule.jwks !== undefined) continue
      const id = keySetId(rule)
      const timeoutMs = Math.max(needed.get(id)?.timeoutMs ?? 0, timeoutOf(rule))
      const { issuer, jwksUri, caBundle } = rule
      needed.set(id, { issuer, jwksUri, timeoutMs, caBundle })
      const named = byNamespace.get(namespace)
      if (named === undefined) byNamespace.set(namespace, [id])
      else named.push(id)
    }
    this.#needed = true
    for (const [namespace, ids] of byNamespace) byNamespace.set(namespace, this.#provenFirst(ids))
    const { admitted, rejected } = shareKeySets(byNamespace, this.#limits)
    this.#rejected = rejected
    for (const [id, issuer] of this.#issuers) {
      if (admitted.has(id)) continue
      issuer.close()
      this.#issuers.delete(id)
      this.#changed(id, { jwks: true })
    }
    for (const [id, source] of needed) if (admitted.has(id)) this.#keep(id, source)
    this.#forgetPersisted()
  }

  /**
   * Puts issuers that have or had keys first: a namespace's new issuers that never respond must not displace its old
   * ones.
   */
  #provenFirst(ids: readonly string[]): string[] {
    const isProven = (id: string): boolean => this.#persisted.has(id) || this.#issuers.get(id)?.state.jwks !== undefined
    return [...ids.filter(isProven), ...ids.filter(id => !isProven(id))]
  }

  get(id: string): KeySetState | undefined {
    const issuer = this.#issuers.get(id)
    if (issuer !== undefined) return issuer.state
    const error = this.#rejected.get(id)
    if (error === undefined) return undefined
    return { id, jwks: undefined, keys: 0, fetchedAt: undefined, nextFetchAt: undefined, error }
  }

  /** Last good keys by id, to be stored across a restart. */
  *good(): Iterable<readonly [id: string, good: GoodKeys]> {
    for (const [id, { good }] of this.#issuers) if (good !== undefined) yield [id, good]
  }

  /** Ids that rules need now, with or without keys; undefined until the rules are known. */
  get needed(): ReadonlySet<string> | undefined {
    return this.#needed ? new Set(this.#issuers.keys()) : undefined
  }

  reportUnknownKey(id: string): void {
    this.#issuers.get(id)?.reportUnknownKey()
  }

  onChange(listener: (id: string, change: { readonly jwks: boolean }) => void): () => void {
    return this.#changes.on(listener)
  }

  close(): void {
    for (const issuer of this.#issuers.values()) issuer.close()
    this.#issuers.clear()
    this.#changes.clear()
  }

  #keep(id: string, source: KeySetSource): void {
    const issuer = this.#issuers.get(id)
    if (issuer !== undefined) {
      issuer.timeoutMs = source.timeoutMs
      return
    }
    const kept = this.#persisted.get(id)
    this.#issuers.set(id, new FetchedIssuer(id, source, kept, this.#around))
    if (kept !== undefined) this.#changed(id, { jwks: true })
  }

  #adopt(persisted: ReadonlyMap<string, GoodKeys>): void {
    this.#persisted = persisted
    for (const [id, good] of persisted) this.#issuers.get(id)?.adopt(good)
    this.#forgetPersisted()
  }

  /** Drops the remaining stored keys once the needed ones are known. */
  #forgetPersisted(): void {
    if (this.#needed) this.#persisted = new Map()
  }

  #changed(id: string, change: { readonly jwks: boolean }): void {
    this.#changes.emit(id, change)
  }
}

function timeoutOf({ timeout }: JwtRule): number {
  const milliseconds = timeout === undefined ? undefined : durationMilliseconds(timeout)
  return Math.min(LONGEST_TIMEOUT, Math.max(1, milliseconds ?? DEFAULT_TIMEOUT))
}
