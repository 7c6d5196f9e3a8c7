// SPDX-License-Identifier: Apache-2.0
// Dependencies of the views that a test controls: time, trust, key sets.

import { keySetId } from "@merlon/policy/tokens"
import type { TrustSpec } from "@merlon/xds"
import type { TrustSource } from "../../authority/trust-source.js"
import type { KeySetState, KeySets, NeededRule } from "../../keysets/key-sets.js"
import type { Scheduler } from "../burst.js"

export class ManualScheduler implements Scheduler {
  #time = 1_000
  #due: { readonly at: number; readonly run: () => void }[] = []

  now(): number {
    return this.#time
  }

  get waiting(): readonly number[] {
    return this.#due.map(({ at }) => at - this.#time)
  }

  soon(run: () => void): void {
    this.later(run, 0)
  }

  later(run: () => void, milliseconds: number): () => void {
    const entry = { at: this.#time + milliseconds, run }
    this.#due.push(entry)
    return () => {
      this.#due = this.#due.filter(other => other !== entry)
    }
  }

  advance(milliseconds: number): void {
    const end = this.#time + milliseconds
    for (;;) {
      const next = this.#due.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#due = this.#due.filter(entry => entry !== next)
      this.#time = Math.max(this.#time, next.at)
      next.run()
    }
    this.#time = end
  }
}

export class ManualTrust implements TrustSource {
  current: TrustSpec = { bundle: "root-1", signer: "a".repeat(64), revokedIdentities: [], revokedSerials: [] }
  readonly #listeners = new Set<() => void>()

  set(change: Partial<TrustSpec>): void {
    this.current = { ...this.current, ...change }
    for (const listener of [...this.#listeners]) listener()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export class ManualKeySets implements KeySets {
  readonly needed: string[][] = []
  readonly reported: string[] = []
  readonly #jwks = new Map<string, string>()
  readonly #listeners = new Set<(id: string, change: { readonly jwks: boolean }) => void>()

  need(rules: Iterable<NeededRule>): void {
    this.needed.push([...rules].map(({ rule }) => keySetId(rule)))
  }

  get(id: string): KeySetState | undefined {
    const jwks = this.#jwks.get(id)
    const never = { fetchedAt: undefined, nextFetchAt: undefined, error: undefined }
    return jwks === undefined ? undefined : { id, jwks, keys: 1, ...never }
  }

  reportUnknownKey(id: string): void {
    this.reported.push(id)
  }

  set(id: string, jwks: string): void {
    const changed = this.#jwks.get(id) !== jwks
    this.#jwks.set(id, jwks)
    for (const listener of [...this.#listeners]) listener(id, { jwks: changed })
  }

  onChange(listener: (id: string, change: { readonly jwks: boolean }) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
