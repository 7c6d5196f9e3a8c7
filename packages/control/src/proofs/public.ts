// SPDX-License-Identifier: Apache-2.0
// What other packages may use of proofs in the control plane.

export { PROOF_BUDGET_MS } from "./proof-budgets.js"
