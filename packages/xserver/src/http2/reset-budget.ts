// SPDX-License-Identifier: Apache-2.0
// How often a peer may make us begin work and throw it away (CVE-2023-44487, and CVE-2025-8671 where it tricks us into
// the reset). Honest clients cancel too, so there is a store to draw from that fills again with time.

export class ResetBudget {
  readonly #burst: number
  readonly #perSecond: number
  #left: number
  #at: number

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#left = burst
    this.#at = nowMs
  }

  /** False once it is used up. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#at) / 1_000) * this.#perSecond)
    this.#at = nowMs
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
