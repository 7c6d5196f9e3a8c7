// SPDX-License-Identifier: Apache-2.0
// The streams that a caller may throw away, over all of its connections: whoever has used them up gains nothing by
// connecting again (CVE-2023-44487). A caller is an identity at an address, so that one of many that share an identity
// does not spend for the others.

import { AbuseBudget as Budget } from "@merlon/wire"
import type { Accepted } from "../accept/accepted.js"

/** Streams thrown away at once, and per second from then on. */
const RESET_BURST = 200
const RESETS_PER_SECOND = 20
const MAX_CALLERS = 10_000
/** How much stays when there are too many, so that not everybody who comes makes us look for room. */
const KEPT = 0.9

export class CallerBudgets {
  readonly #callers = new Map<string, Budget>()

  of({ connection }: Pick<Accepted, "connection">, nowMs: number): Budget {
    const key = `${connection.peer?.uri ?? ""} ${connection.sourceIp.text}`
    const known = this.#callers.get(key)
    if (known !== undefined) return known
    if (this.#callers.size >= MAX_CALLERS) this.#forget(nowMs)
    const budget = new Budget(RESET_BURST, RESETS_PER_SECOND, nowMs)
    this.#callers.set(key, budget)
    return budget
  }

  /** Those that have used nothing lately; if that is nobody, those that have been here longest. */
  #forget(nowMs: number): void {
    for (const [key, budget] of this.#callers) if (budget.full(nowMs)) this.#callers.delete(key)
    for (const key of this.#callers.keys()) {
      if (this.#callers.size < MAX_CALLERS * KEPT) return
      this.#callers.delete(key)
    }
  }
}
