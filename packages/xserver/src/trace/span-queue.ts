// SPDX-License-Identifier: Apache-2.0
// The queue of spans for a collector: batched, sent one batch at a time, and dropped rather than kept without limit.
// INVARIANT: whatever the collector does, no request waits for it, and memory is bounded by the queue.

export interface SpanQueueOptions<T> {
  /** Whether the spans were accepted; `again` if the collector may accept them later. */
  readonly send: (batch: readonly T[]) => Promise<"taken" | "rejected" | "again">
  readonly later?: (run: () => void, milliseconds: number) => () => void
}

export const MOST_QUEUED = 2_048
export const BATCH = 512
const GATHER_MS = 2_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** For everything that is left at shutdown: the process waits that long for the collector before it exits. */
const SHUTDOWN_MS = 3_000

export class SpanQueue<T> {
  readonly #options: SpanQueueOptions<T>
  #queue: T[] = []
  #sending: Promise<void> | undefined
  #cancel: (() => void) | undefined
  #pause = FIRST_PAUSE_MS
  #exported = 0
  #dropped = 0

  constructor(options: SpanQueueOptions<T>) {
    this.#options = options
  }

  get exported(): number {
    return this.#exported
  }

  /** Spans that were dropped because the queue was full, or because the collector rejected them. */
  get dropped(): number {
    return this.#dropped
  }

  /** `make` is called only if there is room. */
  add(make: () => T): void {
    if (this.#queue.length >= MOST_QUEUED) {
      this.#dropped++
      return
    }
    this.#queue.push(make())
    if (this.#sending !== undefined) return
    if (this.#queue.length === BATCH && this.#pause === FIRST_PAUSE_MS) this.#sendNow()
    else if (this.#cancel === undefined) this.#sendLater(GATHER_MS)
  }

  /** Tries to send the rest once more; spans that are not accepted in time are lost. */
  async close(): Promise<void> {
    const { later = systemLater } = this.#options
    let inTime = (): void => undefined
    const tooLate = new Promise<void>(resolve => {
      inTime = later(resolve, SHUTDOWN_MS)
    })
    await Promise.race([this.#sendRest(), tooLate])
    inTime()
    this.#dropped += this.#queue.length
    this.#queue = []
  }

  async #sendRest(): Promise<void> {
    this.#cancel?.()
    await this.#sending
    this.#cancel?.()
    while (this.#queue.length > 0) {
      const before = this.#queue.length
      await this.#sendBatch()
      this.#cancel?.()
      if (this.#queue.length === before) break
    }
  }

  #sendLater(milliseconds: number): void {
    const { later = systemLater } = this.#options
    this.#cancel = later(() => this.#sendNow(), milliseconds)
  }

  #sendNow(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = undefined
      if (this.#queue.length === 0) return
      this.#sendLater(this.#pause === FIRST_PAUSE_MS && this.#queue.length < BATCH ? GATHER_MS : this.#pause)
    })
  }

  async #sendBatch(): Promise<void> {
    const batch = this.#queue.slice(0, BATCH)
    const outcome = await this.#options.send(batch).catch(() => "again" as const)
    if (outcome === "again") {
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS)
      return
    }
    this.#pause = FIRST_PAUSE_MS
    // The queue was dropped meanwhile, and counted as dropped.
    if (this.#queue.length === 0) return
    this.#queue = this.#queue.slice(batch.length)
    if (outcome === "taken") this.#exported += batch.length
    else this.#dropped += batch.length
  }
}

function systemLater(run: () => void, milliseconds: number): () => void {
  const timer = setTimeout(run, milliseconds).unref()
  return () => clearTimeout(timer)
}
