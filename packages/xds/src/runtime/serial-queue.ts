// SPDX-License-Identifier: Apache-2.0
// Runs tasks one after the other, in order; a failed task does not block the next ones.

export class SerialQueue {
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
