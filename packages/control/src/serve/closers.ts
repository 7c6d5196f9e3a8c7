// SPDX-License-Identifier: Apache-2.0
// Stops everything that was started, in reverse order, even if one step fails.

export class Closers {
  readonly #all: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#all.push(close)
  }

  async closeAll(): Promise<void> {
    for (const close of this.#all.splice(0).reverse()) {
      // A failing step must not prevent the others.
      try {
        await close()
      } catch {}
    }
  }
}
