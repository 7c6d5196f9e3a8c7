// SPDX-License-Identifier: Apache-2.0
// Who wants to hear of a change. A listener may stop listening while it is being told.

export class Listeners {
  readonly #all = new Set<() => void>()

  add(listener: () => void): () => void {
    // Wrapped, so that one function added twice is told twice and removed once.
    const own = (): void => listener()
    this.#all.add(own)
    return () => {
      this.#all.delete(own)
    }
  }

  tell(): void {
    for (const listener of [...this.#all]) listener()
  }

  clear(): void {
    this.#all.clear()
  }
}
