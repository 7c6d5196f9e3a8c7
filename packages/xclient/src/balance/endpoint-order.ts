// SPDX-License-Identifier: Apache-2.0
// The endpoints to try for one request, each once, in order. Most requests need only the first one, so each is chosen
// on demand.

import type { ServiceEndpoint } from "@merlon/xds"

/** Index of the next endpoint among those that are left, of which there is at least one. */
export type ChooseNext = (left: readonly ServiceEndpoint[]) => number

export class EndpointOrder {
  /** Number of endpoints to try. */
  readonly length: number
  readonly #choose: ChooseNext
  readonly #chosen: ServiceEndpoint[] = []
  #left: readonly ServiceEndpoint[]
  /** Index of the last choice in `#left`; it is removed when the next one is needed. */
  #last = -1

  constructor(candidates: readonly ServiceEndpoint[], choose: ChooseNext = () => 0, most = candidates.length) {
    this.length = Math.min(candidates.length, most)
    this.#left = candidates
    this.#choose = choose
  }

  at(index: number): ServiceEndpoint | undefined {
    while (this.#chosen.length <= index && this.#chosen.length < this.length) this.#next()
    return this.#chosen[index]
  }

  #next(): void {
    if (this.#last >= 0) this.#left = this.#left.toSpliced(this.#last, 1)
    this.#last = this.#choose(this.#left)
    const endpoint = this.#left[this.#last]
    if (endpoint !== undefined) this.#chosen.push(endpoint)
  }
}
