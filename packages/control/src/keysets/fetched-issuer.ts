// SPDX-License-Identifier: Apache-2.0
// One issuer's keys over time. States: idle until the next fetch, waiting for a slot, fetching. The last good keys stay
// until better ones arrive. Time is measured on a monotonic clock.

import { parseKeySet } from "@merlon/policy/tokens"
import type { Clock } from "../observe/clock.js"
import type { FetchedKeySet, KeySetSource } from "./fetch-jwks.js"
import type { FetchSlots } from "./fetch-slots.js"
import type { KeySetState } from "./key-sets.js"

const FIRST_RETRY = 1_000
const LAST_RETRY = 5 * 60_000
/** Clients that send tokens with invented key ids must not make us ask the issuer more often than this. */
const REPORT_INTERVAL = 30_000

export interface GoodKeys {
  readonly jwks: string
  readonly revision: string
  readonly keys: number
  readonly fetchedAt: number
}

export interface KeySetDependencies {
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  readonly slots: FetchSlots
  readonly fetch: (source: KeySetSource, signal: AbortSignal) => Promise<FetchedKeySet>
  readonly changed: (id: string, change: { readonly jwks: boolean }) => void
  readonly attempted?: (id: string, error: string | undefined) => void
}

export class FetchedIssuer {
  readonly id: string
  readonly #around: KeySetDependencies
  readonly #abort = new AbortController()
  #source: KeySetSource
  #good: GoodKeys | undefined
  #error: string | undefined
  #failures = 0
  #nextFetchAt: number | undefined
  #cancelTimer: (() => void) | undefined
  #release: (() => void) | undefined
  #lastReportedFetch: number | undefined
  #cancelReport: (() => void) | undefined

  constructor(id: string, source: KeySetSource, good: GoodKeys | undefined, around: KeySetDependencies) {
    this.id = id
    this.#source = source
    this.#good = good
    this.#around = around
    this.#fetch()
  }

  get good(): GoodKeys | undefined {
    return this.#good
  }

  get state(): KeySetState {
    return {
      id: this.id,
      jwks: this.#good?.jwks,
      keys: this.#good?.keys ?? 0,
      fetchedAt: this.#good?.fetchedAt,
      nextFetchAt: this.#nextFetchAt,
      error: this.#error,
    }
  }

  set timeoutMs(timeoutMs: number) {
    this.#source = { ...this.#source, timeoutMs }
  }

  /** Takes over keys from before a restart, unless newer ones were fetched. */
  adopt(good: GoodKeys): void {
    if (this.#good !== undefined) return
    this.#good = good
    this.#around.changed(this.id, { jwks: true })
  }

  reportUnknownKey(): void {
    // A running or scheduled fetch also answers this report.
    if (this.#release !== undefined || this.#cancelReport !== undefined) return
    const { clock } = this.#around
    const last = this.#lastReportedFetch
    const wait = last === undefined ? 0 : last + REPORT_INTERVAL - clock.monotonic()
    if (wait <= 0) this.#fetchForReport()
    else this.#cancelReport = clock.after(wait, () => this.#fetchForReport())
  }

  close(): void {
    this.#abort.abort(new Error("no longer needed"))
    this.#clearTimers()
    this.#release?.()
    this.#release = undefined
  }

  #fetchForReport(): void {
    this.#lastReportedFetch = this.#around.clock.monotonic()
    this.#fetch()
  }

  #clearTimers(): void {
    this.#cancelTimer?.()
    // A fetch for any reason also answers earlier reports.
    this.#cancelReport?.()
    this.#cancelTimer = undefined
    this.#cancelReport = undefined
  }

  #fetch(): void {
    this.#clearTimers()
    this.#release = this.#around.slots.take(this.#failures > 0, () => {
      this.#attempt().catch(() => undefined)
    })
  }

  async #attempt(): Promise<void> {
    const { fetch, attempted } = this.#around
    const result = await fetch(this.#source, this.#abort.signal).catch(
      (error: unknown): FetchedKeySet => ({ ok: false, error: error instanceof Error ? error.message : "failed" }),
    )
    if (this.#abort.signal.aborted) return
    this.#release?.()
    this.#release = undefined
    const known = result.ok && this.#good?.revision === result.keySet.revision
    if (result.ok) this.#succeeded(result, known)
    else this.#failed(result.error)
    attempted?.(this.id, this.#error)
    this.#around.changed(this.id, { jwks: result.ok && !known })
  }

  #succeeded({ jwks, keySet, lifetime }: FetchedKeySet & { readonly ok: true }, known: boolean): void {
    const fetchedAt = this.#around.clock.now()
    // If only the spelling differs, the old text stays, so that proxies are not sent keys that they have.
    this.#good =
      known && this.#good !== undefined
        ? { ...this.#good, fetchedAt }
        : { jwks, revision: keySet.revision, keys: keySet.keys.length, fetchedAt }
    this.#error = undefined
    this.#failures = 0
    // Up to a tenth early, so that issuers that were first fetched together spread out.
    this.#schedule(lifetime * (1 - 0.1 * this.#around.random()))
  }

  #failed(error: string): void {
    this.#error = error
    const wait = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    this.#schedule(wait * (1 - 0.25 * this.#around.random()))
  }

  #schedule(wait: number): void {
    const { clock } = this.#around
    this.#nextFetchAt = Math.round(clock.now() + wait)
    this.#cancelTimer = clock.after(wait, () => this.#fetch())
  }
}

/** Reads stored keys with the same checks as an issuer's response; undefined if they are unusable. */
export function goodKeys(jwks: string, fetchedAt: number): GoodKeys | undefined {
  const result = parseKeySet(jwks)
  if (!result.ok) return undefined
  return { jwks, revision: result.keySet.revision, keys: result.keySet.keys.length, fetchedAt }
}
