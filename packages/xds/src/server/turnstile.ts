// SPDX-License-Identifier: Apache-2.0
// So many at a time, the others in line. When a control plane comes back all its proxies come at once: one that waits
// for a moment costs less than one that is sent away and shakes hands again. The line is bounded, and so is the wait.

export interface TurnstileLimits {
  readonly atOnce: number
  readonly inLine: number
  readonly waitMs: number
}

export class Turnstile {
  readonly #limits: TurnstileLimits
  /** In the order of their coming. */
  readonly #line = new Set<() => void>()
  #inside = 0

  constructor(limits: TurnstileLimits) {
    this.#limits = limits
  }

  /** How to leave again, once; undefined where the line is full, or did not move for too long. */
  enter(): Promise<(() => void) | undefined> {
    const { atOnce, inLine, waitMs } = this.#limits
    if (this.#inside < atOnce) {
      this.#inside += 1
      return Promise.resolve(() => this.#leave())
    }
    if (this.#line.size >= inLine) return Promise.resolve(undefined)
    return new Promise(resolve => {
      const admit = () => {
        clearTimeout(timer)
        resolve(() => this.#leave())
      }
      const timer = setTimeout(() => {
        this.#line.delete(admit)
        resolve(undefined)
      }, waitMs)
      this.#line.add(admit)
    })
  }

  #leave(): void {
    // The place goes to the next in line without being free in between.
    for (const admit of this.#line) {
      this.#line.delete(admit)
      admit()
      return
    }
    this.#inside -= 1
  }
}
