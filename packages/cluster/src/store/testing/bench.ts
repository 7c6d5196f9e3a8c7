// SPDX-License-Identifier: Apache-2.0
// Fixture of store tests: a store of the given engine, opened for each test and removed after it.

import { afterAll, afterEach, beforeAll, describe } from "vitest"
import type { Store } from "../store.js"
import { type Engine, engines, type Place } from "./engines.js"

export const put = (key: string, n: number): { key: string; value: string } => ({ key, value: JSON.stringify({ n }) })
export const keysOf = (found: { entries: { key: string }[] }): string[] => found.entries.map(({ key }) => key)

export interface Bench {
  readonly engine: Engine
  /** The open store and the place of its data. */
  readonly store: Store
  readonly place: Place
  readonly fresh: () => Promise<Store>
  readonly reopen: () => Promise<Store>
  readonly write: (...writes: Parameters<Store["commit"]>[1]) => Promise<number>
}

/** Runs the same tests on all stores. */
export function overEngines(suite: (bench: Bench) => void): void {
  for (const engine of engines)
    describe(`${engine.name} store`, { tags: [...engine.tags] }, () => suite(benchOf(engine)))
}

function benchOf(engine: Engine): Bench {
  let place: Place | undefined
  let store: Store | undefined

  beforeAll(() => engine.start())
  afterAll(() => engine.stop())
  afterEach(async () => {
    await store?.close().catch(() => undefined)
    await place?.remove()
  })

  const standing = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("no store was opened")
    return value
  }
  return {
    engine,
    get store() {
      return standing(store)
    },
    get place() {
      return standing(place)
    },
    fresh: async () => {
      place = await engine.place()
      store = await place.open()
      return store
    },
    reopen: async () => {
      await standing(store).close()
      store = await standing(place).open()
      return store
    },
    write: async (...writes) => {
      const revision = await standing(store).commit([], writes)
      if (revision === undefined) throw new Error("a commit without compares failed")
      return revision
    },
  }
}
