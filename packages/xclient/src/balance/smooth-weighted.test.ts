// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { periodOf, SmoothWeighted } from "./smooth-weighted.js"

const entriesOf = (weights: readonly number[]) => weights.map((weight, value) => ({ value, weight }))

function counts(balancer: SmoothWeighted<number>, picks: number, length: number): readonly number[] {
  const result = Array.from({ length }, () => 0)
  for (let index = 0; index < picks; index++) {
    const picked = balancer.pick()
    if (picked !== undefined) result[picked] = (result[picked] ?? 0) + 1
  }
  return result
}

const someWeights = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 8 })

describe("shares", () => {
  it("spreads 5, 1, 1 evenly", () => {
    const balancer = new SmoothWeighted(entriesOf([5, 1, 1]))
    expect(Array.from({ length: 7 }, () => balancer.pick())).toEqual([0, 0, 1, 0, 2, 0, 0])
  })

  it("picks 50 and 50 ten times each in twenty", () => {
    expect(counts(new SmoothWeighted(entriesOf([50, 50])), 20, 2)).toEqual([10, 10])
  })

  it("are exact over each full period, and weight 0 is never picked", () => {
    fc.assert(
      fc.property(someWeights, fc.integer({ min: 1, max: 3 }), (weights, periods) => {
        const balancer = new SmoothWeighted(entriesOf(weights))
        const period = periodOf(weights)
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        for (let round = 0; round < periods; round++) {
          const expected = weights.map(weight => (total === 0 ? 0 : (weight * period) / total))
          expect(counts(balancer, period, weights.length)).toEqual(expected)
        }
      }),
    )
  })

  it("are exact again from the moment weights change", () => {
    fc.assert(
      fc.property(someWeights, fc.nat({ max: 50 }), someWeights, (before, picks, after) => {
        const balancer = new SmoothWeighted(entriesOf(before))
        counts(balancer, picks, before.length)
        fc.pre(JSON.stringify(before) !== JSON.stringify(after))
        balancer.update(entriesOf(after))
        const period = periodOf(after)
        const total = after.reduce((sum, weight) => sum + weight, 0)
        expect(counts(balancer, period, after.length)).toEqual(after.map(weight => (weight * period) / (total || 1)))
      }),
    )
  })

  it("keep their state while the weights stay: frequent updates favour no endpoint", () => {
    const balancer = new SmoothWeighted(entriesOf([1, 1]))
    const seen = Array.from({ length: 10 }, () => {
      balancer.update(entriesOf([1, 1]))
      return balancer.pick()
    })
    expect(seen).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
  })

  it.each([[[]], [[0]], [[0, 0]]])("of %j pick nothing", weights => {
    expect(new SmoothWeighted(entriesOf(weights)).pick()).toBeUndefined()
    expect(periodOf(weights)).toBe(0)
  })
})
