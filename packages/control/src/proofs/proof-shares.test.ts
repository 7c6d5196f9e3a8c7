// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { PROOF_BUDGET_MS, ProofShares } from "./proof-shares.js"

it("gives a namespace its whole budget, and another its own", () => {
  const shares = new ProofShares(PROOF_BUDGET_MS)
  shares.spend("tenant", PROOF_BUDGET_MS, 0)
  expect(shares.left("tenant", 0)).toBe(0)
  expect(shares.left("ops", 0)).toBe(PROOF_BUDGET_MS)
})

it("gives back a tenth of the time that passes, and never more than the budget", () => {
  const shares = new ProofShares(PROOF_BUDGET_MS)
  shares.spend("tenant", PROOF_BUDGET_MS, 0)
  expect(shares.left("tenant", 1_000)).toBe(100)
  expect(shares.left("tenant", 3_600_000)).toBe(PROOF_BUDGET_MS)
})

it("remembers what was taken beyond the budget", () => {
  const shares = new ProofShares(PROOF_BUDGET_MS)
  shares.spend("tenant", PROOF_BUDGET_MS + 200, 0)
  expect(shares.left("tenant", 1_000)).toBe(-100)
})

it("forgets namespaces that have all of theirs again", () => {
  const shares = new ProofShares(PROOF_BUDGET_MS)
  for (let number = 0; number < 5_000; number++) shares.spend(`n${number}`, 1, number * 10)
  shares.spend("tenant", PROOF_BUDGET_MS, 50_000)
  expect(shares.left("tenant", 50_000)).toBe(0)
  expect(shares.left("n0", 50_000)).toBe(PROOF_BUDGET_MS)
})
