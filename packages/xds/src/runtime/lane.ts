// SPDX-License-Identifier: Apache-2.0
// One thing after the other, in the order they came; one that fails does not keep those behind it.

export class Lane {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves when everything that was added so far is done. */
  idle(): Promise<unknown> {
    return this.#last
  }

  add<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}
