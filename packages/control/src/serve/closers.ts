// SPDX-License-Identifier: Apache-2.0
// How everything that was started ends: in the opposite order, whatever one of them does.

export class Closers {
  readonly #all: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#all.push(close)
  }

  async closeAll(): Promise<void> {
    for (const close of this.#all.splice(0).reverse()) {
      // One that fails must not keep the others from ending.
      try {
        await close()
      } catch {}
    }
  }
}
