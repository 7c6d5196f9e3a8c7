// SPDX-License-Identifier: Apache-2.0
// A reference model of the store that keeps every past state. It is slow and obviously correct; the real stores are
// compared with it after random histories.

import type { Compare, Entry, StoreEvent, Write } from "../store.js"

export interface Effect {
  readonly key: string
  readonly value: string | undefined
  readonly previous: string | undefined
}

/** The state after one commit. */
interface Moment {
  readonly revision: number
  readonly values: ReadonlyMap<string, string>
  readonly effects: readonly Effect[]
}

export class Model {
  readonly moments: Moment[]
  compacted: number
  /** The versions that the store assigned. The model does not predict them, but they must not change. */
  readonly #versions = new Map<string, number>()

  constructor(revision: number, compacted: number) {
    this.moments = [{ revision, values: new Map(), effects: [] }]
    this.compacted = compacted
  }

  get now(): Moment {
    return this.moments.at(-1) ?? { revision: 0, values: new Map(), effects: [] }
  }

  version(key: string): number {
    return this.#versions.get(key) ?? 0
  }

  admits(compares: readonly Compare[]): boolean {
    return compares.every(({ key, modRevision }) => this.version(key) === modRevision)
  }

  /** The effects of the writes: deleting a missing key has none. */
  effects(writes: readonly Write[]): Effect[] {
    return writes
      .map(write => ({
        key: write.key,
        value: "value" in write ? write.value : undefined,
        previous: this.now.values.get(write.key),
      }))
      .filter(({ value, previous }) => value !== undefined || previous !== undefined)
  }

  commit(effects: readonly Effect[], revision: number, written: ReadonlyMap<string, Entry | undefined>): void {
    const values = new Map(this.now.values)
    for (const { key, value } of effects) {
      if (value === undefined) {
        values.delete(key)
        this.#versions.delete(key)
      } else {
        values.set(key, value)
        this.#versions.set(key, written.get(key)?.modRevision ?? -1)
      }
    }
    this.moments.push({ revision, values, effects })
  }

  range(moment: Moment, prefix: string, after: string | undefined): [string, string][] {
    return [...moment.values]
      .filter(
        ([key]) =>
          key.startsWith(prefix) && (after === undefined || Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0),
      )
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }

  eventsAfter(revision: number, prefix: string): Effect[] {
    return this.moments
      .filter(moment => moment.revision > revision)
      .flatMap(moment => moment.effects)
      .filter(({ key }) => key.startsWith(prefix))
  }
}

export function effectOf(event: StoreEvent): Effect {
  return { key: event.key, value: event.entry?.value, previous: event.previous?.value }
}
