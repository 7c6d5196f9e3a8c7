// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { RetryBudget } from "./retry-budget.js"

const granted = (budget: RetryBudget, asked: number): number =>
  Array.from({ length: asked }, () => budget.withdraw()).filter(Boolean).length

it("allows a few retries without requests, and beyond that a fifth of the requests", () => {
  expect(granted(new RetryBudget(() => 0), 1_000)).toBe(30)
  const budget = new RetryBudget(() => 0)
  for (let count = 0; count < 1_000; count++) budget.deposit()
  expect(granted(budget, 1_000)).toBe(230)
})

it("counts the last ten seconds, as a list of events would", () => {
  const step = fc.record({
    wait: fc.integer({ min: 0, max: 4_000 }),
    retries: fc.nat({ max: 60 }),
    requests: fc.nat({ max: 80 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      let now = 5_000
      const budget = new RetryBudget(() => now)
      const events: { readonly second: number; readonly isRetry: boolean }[] = []
      for (const { wait, retries, requests } of steps) {
        now += wait
        const second = Math.floor(now / 1_000)
        for (let count = 0; count < requests; count++) {
          budget.deposit()
          events.push({ second, isRetry: false })
        }
        for (let count = 0; count < retries; count++) {
          const recent = events.filter(event => event.second > second - 10)
          const sent = recent.filter(({ isRetry }) => isRetry).length
          const expected = sent < 30 + 0.2 * (recent.length - sent)
          expect(budget.withdraw()).toBe(expected)
          if (expected) events.push({ second, isRetry: true })
        }
      }
    }),
    { numRuns: 40 },
  )
})
