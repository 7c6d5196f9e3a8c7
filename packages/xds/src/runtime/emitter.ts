// SPDX-License-Identifier: Apache-2.0
// Listeners of one event. A listener may be removed while the event is emitted.

type Listener<Args extends readonly unknown[]> = (...args: Args) => void

export class Emitter<Args extends readonly unknown[] = []> {
  readonly #listeners = new Set<Listener<Args>>()
  readonly #onError: ((error: unknown, ...args: Args) => void) | undefined

  /** `onError`: a listener threw; the others are still called. Without it `emit` throws. */
  constructor(onError?: (error: unknown, ...args: Args) => void) {
    this.#onError = onError
  }

  /** Returns a function that removes the listener. */
  on(listener: Listener<Args>): () => void {
    // Wrapped, so that a function that was added twice is called twice and removed once.
    const own: Listener<Args> = (...args) => listener(...args)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  emit(...args: Args): void {
    for (const listener of [...this.#listeners]) {
      if (this.#onError === undefined) listener(...args)
      else this.#guarded(listener, this.#onError, args)
    }
  }

  clear(): void {
    this.#listeners.clear()
  }

  #guarded(listener: Listener<Args>, onError: (error: unknown, ...args: Args) => void, args: Args): void {
    try {
      listener(...args)
    } catch (error) {
      onError(error, ...args)
    }
  }
}
