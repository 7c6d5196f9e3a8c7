// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process"
import { Deadlines, type Expiring, UNWATCHED } from "@merlon/wire/http"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DEFAULT_LIMITS } from "../limits.js"
import { script } from "../testing/script.js"

const LIMITS = { ...DEFAULT_LIMITS, headerTimeoutMs: 40 }

/** An item that calls `onExpire` when its limit has passed. */
function item(deadlines: Deadlines, limitMs: number, onExpire: () => void): Expiring {
  const watched = { deadline: deadlines.after(limitMs), place: UNWATCHED, expire: onExpire }
  deadlines.watch(watched)
  return watched
}

describe("deadlines", () => {
  it("expires each item that is due once, and none without a limit", async () => {
    const deadlines = new Deadlines(LIMITS)
    const received: string[] = []
    item(deadlines, 0, () => received.push("none"))
    item(deadlines, 20, () => received.push("first"))
    await new Promise<void>(resolve => item(deadlines, 60, resolve))
    expect(received).toEqual(["first"])
  })

  it("expires all items that are due although each removes others", async () => {
    const deadlines = new Deadlines(LIMITS)
    const received: number[] = []
    const items: Expiring[] = []
    for (let n = 0; n < 5; n++) {
      items.push(
        item(deadlines, 20, () => {
          received.push(n)
          const self = items[n]
          if (self !== undefined) deadlines.unwatch(self)
        }),
      )
    }
    await new Promise<void>(resolve => item(deadlines, 80, resolve))
    expect(received.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
  })

  it("watches exactly the registered items, in any order of adding and removing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 60 }), async steps => {
        const deadlines = new Deadlines(LIMITS)
        const received = new Set<number>()
        const items = Array.from({ length: 10 }, (_, n) => ({
          deadline: deadlines.after(5),
          place: UNWATCHED,
          expire: () => void received.add(n),
        }))
        const expected = new Set<number>()
        for (const [n, watch] of steps) {
          const one = items[n]
          if (one === undefined) continue
          if (watch) deadlines.watch(one)
          else deadlines.unwatch(one)
          if (watch) expected.add(n)
          else expected.delete(n)
        }
        await new Promise<void>(resolve => item(deadlines, 15, resolve))
        expect(received).toEqual(expected)
        for (const one of items) deadlines.unwatch(one)
      }),
      { numRuns: 10 },
    )
  })
})

describe("structures that every request changes", () => {
  const STREAM_TABLE = JSON.stringify("../../../wire/src/http2/stream-table.ts")
  const HOLDERS = {
    "the deadlines": `
      import { Deadlines, UNWATCHED } from "@merlon/wire/http"
      import { DEFAULT_LIMITS } from "../limits.ts"
      const deadlines = new Deadlines(DEFAULT_LIMITS)
      const make = () => ({ deadline: 0, place: UNWATCHED, expire() {}, held: new Array(40).fill(0.5) })
      const add = item => deadlines.watch(item)
      const remove = item => deadlines.unwatch(item)`,
    "the streams of a connection": `
      import { StreamTable } from ${STREAM_TABLE}
      const streams = new StreamTable()
      let id = -1
      const make = () => ({ id: (id += 2), held: new Array(40).fill(0.5) })
      const add = stream => streams.add(stream)
      const remove = stream => streams.delete(stream.id)`,
  }

  it.each(Object.entries(HOLDERS))("%s keep no removed entry alive", (_name, holder) => {
    const source = `${holder}
      import { getHeapSpaceStatistics } from "node:v8"
      const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space").space_used_size
      const open = []
      const step = () => {
        const item = make()
        add(item)
        open.push(item)
        if (open.length > 64) remove(open.shift())
      }
      // A while without requests, in which the structures themselves move to the old generation.
      for (let n = 0; n < 1_000; n++) step()
      for (let n = 0; n < 200_000; n++) new Array(40).fill(n + 0.5)
      const before = old()
      for (let n = 0; n < 100_000; n++) step()
      console.log((old() - before) / 1_048_576)`
    // No full collection runs in between: everything that was promoted stays counted.
    const args = ["--no-incremental-marking", "--input-type=module", "-e", script(source, import.meta.dirname)]
    expect(Number(execFileSync("node", args, { encoding: "utf8" }))).toBeLessThan(1)
  })
})
