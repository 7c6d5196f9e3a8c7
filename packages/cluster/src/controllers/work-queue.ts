// SPDX-License-Identifier: Apache-2.0
// A work queue of keys: one key is worked on at a time, repeated additions count once, and failures are retried a
// little later.

const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 30_000

export class WorkQueue {
  readonly #pending = new Set<string>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #failures = new Map<string, number>()
  #running: Promise<void> | undefined
  #closed = false

  constructor(readonly work: (key: string) => Promise<void>) {}

  add(key: string): void {
    if (this.#closed) return
    this.#pending.add(key)
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
      if (this.#pending.size > 0 && !this.#closed) this.add([...this.#pending][0] ?? "")
    })
  }

  addLater(key: string, ms: number): void {
    if (this.#closed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.add(key)
    }, ms)
    timer.unref()
    this.#timers.add(timer)
  }

  async #drain(): Promise<void> {
    // The writer whose event triggered the queue responds to its client first.
    await new Promise(resolve => setImmediate(resolve))
    for (const key of this.#pending) {
      this.#pending.delete(key)
      if (this.#closed) return
      try {
        await this.work(key)
        this.#failures.delete(key)
      } catch {
        // A failed key is retried: the state in the store shows what is still to be done.
        const failures = (this.#failures.get(key) ?? 0) + 1
        this.#failures.set(key, failures)
        this.addLater(key, Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS))
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#running
  }
}
