// SPDX-License-Identifier: Apache-2.0
// Streams decisions while a client follows them. At most a fixed number per quarter of a second is sent; the rest is
// only counted.

import type { DecisionSummary } from "./decisions.js"

export type DecisionListener = (decisions: readonly DecisionSummary[], leftOut: number) => void

const EVERY_MS = 250
const MAX_AT_ONCE = 50

export class DecisionTail {
  #listener: DecisionListener | undefined
  #gathered: DecisionSummary[] = []
  #leftOut = 0
  #timer: NodeJS.Timeout | undefined

  get followed(): boolean {
    return this.#listener !== undefined
  }

  follow(listener: DecisionListener | undefined): void {
    this.#listener = listener
    if (listener !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#gathered = []
    this.#leftOut = 0
  }

  /** `describe` is called only if there is room for its result. */
  add(describe: () => DecisionSummary): void {
    if (this.#listener === undefined) return
    if (this.#gathered.length < MAX_AT_ONCE) this.#gathered.push(describe())
    else this.#leftOut++
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS).unref()
  }

  #flush(): void {
    const gathered = this.#gathered
    const leftOut = this.#leftOut
    this.#timer = undefined
    this.#gathered = []
    this.#leftOut = 0
    this.#listener?.(gathered, leftOut)
  }
}
