// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import fc from "fast-check"
import { expect, it } from "vitest"
import { MAX_TEXT, ownText, shortText } from "./own-text.js"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

it("returns an equal text, for any content", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), text => {
      expect(ownText(text)).toBe(text)
      expect(ownText(`${text}\ud800`)).toBe(`${text}\ud800`)
    }),
  )
})

it("does not keep the text alive that it was cut from", () => {
  const kept: string[] = []
  const held = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = held()
  for (let n = 0; n < 400; n++) {
    const head = Buffer.alloc(100_000, `path ${n}, `).toString("latin1")
    kept.push(ownText(head.slice(0, 40)))
  }
  expect(held() - before).toBeLessThan(10_000_000)
  expect(kept).toHaveLength(400)
})

it("truncates to a readable length", () => {
  expect(shortText("a".repeat(MAX_TEXT))).toBe("a".repeat(MAX_TEXT))
  expect(shortText("a".repeat(MAX_TEXT + 1))).toBe(`${"a".repeat(MAX_TEXT)}…`)
})
