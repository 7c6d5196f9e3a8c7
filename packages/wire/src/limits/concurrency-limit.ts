// SPDX-License-Identifier: Apache-2.0
// Limits how much work runs concurrently. The rest waits in order. The queue and the time in it can be limited too.

export interface ConcurrencyLimits {
  readonly atOnce: number
  /** How many may wait; unlimited if absent. */
  readonly queue?: number
  /** How long each may wait; unlimited if absent. */
  readonly waitMs?: number
}

export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits
  /** In order of arrival. */
  readonly #queue = new Set<() => void>()
  #running = 0

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  /**
   * Calls `start` when there is a slot. Returns a function that frees the slot, or leaves the queue; further calls do
   * nothing.
   */
  take(start: () => void): () => void {
    let state: "waiting" | "running" | "done" = "waiting"
    const run = (): void => {
      state = "running"
      start()
    }
    if (this.#running < this.#limits.atOnce) {
      this.#running += 1
      run()
    } else this.#queue.add(run)
    return () => {
      if (state === "waiting") this.#queue.delete(run)
      if (state === "running") this.#free()
      state = "done"
    }
  }

  /** Resolves to the function that frees the slot; undefined if the queue is full or the wait took too long. */
  enter(): Promise<(() => void) | undefined> {
    const { atOnce, queue = Number.POSITIVE_INFINITY, waitMs } = this.#limits
    if (this.#running >= atOnce && this.#queue.size >= queue) return Promise.resolve(undefined)
    return new Promise(resolve => {
      let timer: NodeJS.Timeout | undefined
      let isWaiting = true
      const release = this.take(() => {
        isWaiting = false
        clearTimeout(timer)
        resolve(() => release())
      })
      if (!isWaiting || waitMs === undefined) return
      timer = setTimeout(() => {
        release()
        resolve(undefined)
      }, waitMs)
    })
  }

  /** Only for limits without a bound on the queue. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const release = this.take(() => {
        work()
          .finally(() => release())
          .then(resolve, reject)
      })
    })
  }

  #free(): void {
    // The slot passes directly to the next in the queue.
    for (const run of this.#queue) {
      this.#queue.delete(run)
      run()
      return
    }
    this.#running -= 1
  }
}
