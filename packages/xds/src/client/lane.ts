// SPDX-License-Identifier: Apache-2.0
// Updates of one type, one after the other, also across connections: what an old stream brought is applied, or refused,
// before a new one says what is held.

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
