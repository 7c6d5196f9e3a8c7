// SPDX-License-Identifier: Apache-2.0

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Stream, type StreamHost } from "./stream.js"
import { StreamTable } from "./stream-table.js"

/** Never called: the table only uses stream ids. */
const HOST = {} as StreamHost

describe("the table of streams", () => {
  it("agrees with a Map as streams are added and removed", () => {
    // Ids of one side, mostly in order, with some that stay open and some that share a slot.
    const step = fc.tuple(fc.constantFrom("open", "close", "look"), fc.nat(300))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), steps => {
        const table = new StreamTable()
        const oracle = new Map<number, Stream>()
        for (const [what, n] of steps) {
          const id = n * 2 + 1
          if (what === "open" && !oracle.has(id)) {
            const stream = new Stream(HOST, id, 0, 0)
            table.add(stream)
            oracle.set(id, stream)
          } else if (what === "close") {
            table.delete(id)
            oracle.delete(id)
          }
          expect(table.get(id)).toBe(oracle.get(id))
          expect(table.size).toBe(oracle.size)
        }
        for (let id = 1; id < 602; id += 2) expect(table.get(id)).toBe(oracle.get(id))
        expect(table.all().map(({ id }) => id)).toEqual([...oracle.keys()].sort((a, b) => a - b))
      }),
    )
  })
})
