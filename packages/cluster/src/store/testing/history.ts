// SPDX-License-Identifier: Apache-2.0
// Random histories for stores: the operations, how they are generated, and how each step is compared with the model.

import fc from "fast-check"
import { expect } from "vitest"
import { CompactedError, type Compare, type Store, type StoreEvent, type Watch, type Write } from "../store.js"
import type { Place } from "./engines.js"
import { effectOf, Model } from "./model.js"

const KEYS = ["/a", "/a/", "/a/1", "/a/10", "/a/2", "/ab/1", "/b/x", "/b/y/z", "/b/ｚ", "/b/😀", "/b/😀/1"]
const PREFIXES = ["", "/", "/a", "/a/", "/a/1", "/b/", "/none/"]

export type Step =
  | { do: "commit"; compares: { key: string; claim: "right" | "absent" | "stale" }[]; writes: Write[] }
  | { do: "range"; prefix: string; moment: number; newest: boolean; limit: number; after: string | undefined }
  | { do: "watch"; prefix: string; moment: number }
  | { do: "unwatch"; which: number }
  | { do: "compact"; moment: number }
  | { do: "reopen" }

const key = fc.constantFrom(...KEYS)
const prefix = fc.constantFrom(...PREFIXES)
/** A past state, counted from the newest. */
const moment = fc.nat({ max: 30 })
const value = fc.nat({ max: 99 }).map(n => JSON.stringify({ n, text: "é { } \n" }))

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ key, value }) },
  { weight: 1, arbitrary: fc.record({ key, delete: fc.constant(true as const) }) },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("commit" as const),
      compares: fc.array(
        fc.record({
          key,
          claim: fc.constantFrom(
            "right" as const,
            "right" as const,
            "right" as const,
            "absent" as const,
            "stale" as const,
          ),
        }),
        { maxLength: 2 },
      ),
      writes: fc.uniqueArray(write, { selector: ({ key }) => key, maxLength: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("range" as const),
      prefix,
      moment,
      newest: fc.boolean(),
      limit: fc.nat({ max: 4 }),
      after: fc.option(key, { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("watch" as const), prefix, moment }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unwatch" as const), which: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), moment }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
)

export const histories: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 5, maxLength: 40 })

interface Watcher {
  readonly prefix: string
  readonly after: number
  readonly events: StoreEvent[]
  handle: Watch
  readonly open: boolean
}

/** Runs the steps on a fresh store and compares everything that can be observed. */
export async function play(place: Place, steps: readonly Step[]): Promise<void> {
  let store = await place.open()
  const model = new Model(store.revision(), store.compactedRevision())
  const watchers: Watcher[] = []
  const past = (back: number): Model["now"] => model.moments[Math.max(0, model.moments.length - 1 - back)] ?? model.now

  const watch = (on: Store, prefix: string, after: number, events: StoreEvent[]): Watch =>
    on.watch(prefix, after, event => events.push(event))

  for (const step of steps) {
    switch (step.do) {
      case "commit":
        await commit(store, model, step)
        break
      case "range":
        await range(store, model, step, step.newest ? undefined : past(step.moment))
        break
      case "watch": {
        const after = past(step.moment).revision
        const events: StoreEvent[] = []
        if (after < model.compacted) {
          expect(() => watch(store, step.prefix, after, events)).toThrow(CompactedError)
          break
        }
        watchers.push({
          prefix: step.prefix,
          after,
          events,
          handle: watch(store, step.prefix, after, events),
          open: true,
        })
        break
      }
      case "unwatch": {
        const watcher = watchers[step.which]
        if (watcher === undefined) break
        check(model, watcher)
        watcher.handle.close()
        watchers.splice(step.which, 1)
        break
      }
      case "compact": {
        const { revision } = past(step.moment)
        await store.compact(revision)
        model.compacted = Math.max(model.compacted, revision)
        expect(store.compactedRevision()).toBe(model.compacted)
        break
      }
      case "reopen": {
        const revision = store.revision()
        await store.close()
        store = await place.open()
        expect(store.revision()).toBeGreaterThanOrEqual(revision)
        expect(store.compactedRevision()).toBe(model.compacted)
        for (const watcher of watchers) {
          // Changes that were compacted meanwhile have been seen before, so the watch continues after them.
          const from = Math.max(watcher.after, watcher.events.at(-1)?.revision ?? 0, model.compacted)
          watcher.handle = watch(store, watcher.prefix, from, watcher.events)
        }
        break
      }
      default:
        step satisfies never
    }
    for (const watcher of watchers) check(model, watcher)
  }
  await range(store, model, { do: "range", prefix: "", moment: 0, newest: true, limit: 0, after: undefined }, undefined)
  await store.close()
  await place.remove()
}

async function commit(store: Store, model: Model, step: Step & { do: "commit" }): Promise<void> {
  const compares: Compare[] = step.compares.map(({ key, claim }) => {
    if (claim === "right") return { key, modRevision: model.version(key) }
    return { key, modRevision: claim === "absent" ? 0 : Math.max(1, model.version(key) - 1) }
  })
  const before = store.revision()
  const answer = await store.commit(compares, step.writes)
  if (!model.admits(compares)) {
    expect(answer).toBeUndefined()
    return
  }
  if (answer === undefined) throw new Error("the compares hold, yet nothing was written")
  const effects = model.effects(step.writes)
  expect(store.revision()).toBeGreaterThanOrEqual(answer)
  if (effects.length === 0) {
    expect(answer).toBeGreaterThanOrEqual(before)
    return
  }
  expect(answer).toBeGreaterThan(before)
  const written = new Map(await Promise.all(effects.map(async ({ key }) => [key, await store.get(key)] as const)))
  for (const { key, value, previous } of effects) {
    const entry = written.get(key)
    expect(entry?.value).toBe(value)
    if (entry === undefined) continue
    expect(entry.modRevision).toBeGreaterThan(before)
    expect(entry.modRevision).toBeLessThanOrEqual(answer)
    if (previous === undefined) expect(entry.createRevision).toBe(entry.modRevision)
    else expect(entry.createRevision).toBeLessThan(entry.modRevision)
  }
  model.commit(effects, answer, written)
}

async function range(
  store: Store,
  model: Model,
  { prefix, limit, after }: Step & { do: "range" },
  at: Model["now"] | undefined,
): Promise<void> {
  const request = { prefix, ...(after === undefined ? {} : { after }), ...(limit === 0 ? {} : { limit }) }
  if (at !== undefined && at.revision < model.compacted) {
    await expect(store.range({ ...request, revision: at.revision })).rejects.toBeInstanceOf(CompactedError)
    return
  }
  const found = await store.range(at === undefined ? request : { ...request, revision: at.revision })
  const expected = model.range(at ?? model.now, prefix, after)
  const taken = limit === 0 ? expected : expected.slice(0, limit)
  expect(found.entries.map(entry => [entry.key, entry.value])).toEqual(taken)
  expect(found.remaining).toBe(expected.length - taken.length)
  if (at === undefined) {
    expect(found.revision).toBeGreaterThanOrEqual(model.now.revision)
    for (const entry of found.entries) expect(entry.modRevision).toBe(model.version(entry.key))
  } else expect(found.revision).toBe(at.revision)
}

function check(model: Model, { prefix, after, events }: Watcher): void {
  expect(events.map(effectOf)).toEqual(model.eventsAfter(after, prefix))
  let last = after
  for (const { revision, entry, previous } of events) {
    expect(revision).toBeGreaterThanOrEqual(last)
    expect(revision).toBeGreaterThan(after)
    if (entry !== undefined) expect(entry.modRevision).toBe(revision)
    if (previous !== undefined) expect(previous.modRevision).toBeLessThan(revision)
    last = revision
  }
}
