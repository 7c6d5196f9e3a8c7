// SPDX-License-Identifier: Apache-2.0
// One way between two processes. What is said within one turn of the event loop goes as one message, and the next one waits
// until the other side has dealt with it: thousands of streams that wake together cost one message, and who is slower is
// never buried.

export interface BatchesOptions<Item> {
  readonly send: (items: readonly Item[]) => void
  /** What waits here; whoever can stop more from coming does so above its limit. */
  readonly waiting?: (bytes: number) => void
}

export class Batches<Item> {
  readonly #options: BatchesOptions<Item>
  #items: Item[] = []
  #bytes = 0
  #isUnderway = false
  #isScheduled = false

  constructor(options: BatchesOptions<Item>) {
    this.#options = options
  }

  add(item: Item, bytes = 0): void {
    this.#items.push(item)
    this.#bytes += bytes
    if (bytes > 0) this.#options.waiting?.(this.#bytes)
    this.#schedule()
  }

  /** The other side has dealt with the last one. */
  done(): void {
    this.#isUnderway = false
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isUnderway || this.#items.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#isUnderway = true
      const items = this.#items
      this.#items = []
      this.#bytes = 0
      this.#options.send(items)
      this.#options.waiting?.(0)
    })
  }
}
