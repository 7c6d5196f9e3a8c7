// SPDX-License-Identifier: Apache-2.0
// So many pieces of work at a time, the others in the order of their coming. For what is many and can wait, so that it
// does not stand in the way of what cannot.

export class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The place goes to the next one without being free in between.
      if (next === undefined) this.#free++
      else next()
    }
  }
}
