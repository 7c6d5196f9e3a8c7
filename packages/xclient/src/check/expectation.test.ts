// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SmoothWeighted } from "../balance/smooth-weighted.js"
import { isExpectedCount, isSameSplit, parseExpectation, showShares } from "./expectation.js"

const shares = (entries: { readonly [name: string]: number }) => new Map(Object.entries(entries))

describe("an expectation", () => {
  it("is parsed", () => {
    expect(parseExpectation("v1=50, v2=0")).toEqual(shares({ v1: 50, v2: 0 }))
  })

  it.each([
    ["", /is not an expected share/],
    ["v1", /is not an expected share/],
    ["v1=-1", /is not an expected share/],
    ["v1=1,v1=2", /twice/],
    ["v1=0", /all expected shares are 0/],
  ])("`%s` is rejected", (text, message) => {
    expect(() => parseExpectation(text)).toThrow(message)
  })

  it("is shown sorted", () => {
    expect(showShares(shares({ v2: 1, v1: 99 }))).toBe("map[v1:99 v2:1]")
  })
})

describe("the same split", () => {
  it.each([
    [{ v1: 50, v2: 50 }, { v1: 50, v2: 50 }, true],
    [{ v1: 1, v2: 1 }, { v1: 50, v2: 50 }, true],
    [{ v1: 100, v2: 0 }, { v1: 100 }, true],
    [{ v1: 60, v2: 40 }, { v1: 50, v2: 50 }, false],
    [{ v1: 100 }, { v2: 100 }, false],
    [{}, { v1: 1 }, false],
  ])("%j and %j: %s", (a, b, same) => {
    expect(isSameSplit(shares(a), shares(b))).toBe(same)
    expect(isSameSplit(shares(b), shares(a))).toBe(same)
  })
})

describe("counts", () => {
  it.each([
    [{ v1: 10, v2: 10 }, { v1: 50, v2: 50 }, true],
    [{ v1: 11, v2: 9 }, { v1: 50, v2: 50 }, false],
    [{ v1: 11, v2: 10 }, { v1: 50, v2: 50 }, true],
    [{ v1: 13, v2: 8 }, { v1: 50, v2: 50 }, false],
    [{ v1: 20 }, { v1: 100, v2: 0 }, true],
    [{ v1: 19, v2: 1 }, { v1: 100, v2: 0 }, false],
    [{ v1: 10, v2: 9, v3: 1 }, { v1: 1, v2: 1 }, false],
    [{}, { v1: 1 }, false],
  ])("%j for %j: %s", (counted, expected, fits) => {
    expect(isExpectedCount(shares(counted), shares(expected))).toBe(fits)
  })

  it("of our own balancer are always accepted", () => {
    const weights = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 200 }), (list, requests) => {
        const entries = list.map((weight, index) => ({ value: `v${index}`, weight }))
        const balancer = new SmoothWeighted(entries)
        const counts = new Map<string, number>()
        for (let index = 0; index < requests; index++) {
          const name = balancer.pick() ?? ""
          counts.set(name, (counts.get(name) ?? 0) + 1)
        }
        return isExpectedCount(counts, new Map(entries.map(({ value, weight }) => [value, weight])))
      }),
    )
  })
})
