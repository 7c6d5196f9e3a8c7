// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { PROOF_BUDGET_MS, proofBudgets } from "./proof-budgets.js"

it("gives each namespace a whole budget of its own", () => {
  const budgets = proofBudgets(PROOF_BUDGET_MS)
  budgets.of("tenant", 0).spend(0, PROOF_BUDGET_MS)
  expect(budgets.of("tenant", 0).left(0)).toBe(0)
  expect(budgets.of("ops", 0).left(0)).toBe(PROOF_BUDGET_MS)
})

it("returns a tenth of the elapsed time, up to the budget", () => {
  const budget = proofBudgets(PROOF_BUDGET_MS).of("tenant", 0)
  budget.spend(0, PROOF_BUDGET_MS)
  expect(budget.left(1_000)).toBe(100)
  expect(budget.left(3_600_000)).toBe(PROOF_BUDGET_MS)
})

it("remembers time used beyond the budget", () => {
  const budget = proofBudgets(PROOF_BUDGET_MS).of("tenant", 0)
  budget.spend(0, PROOF_BUDGET_MS + 200)
  expect(budget.left(1_000)).toBe(-100)
})
