// SPDX-License-Identifier: Apache-2.0
// Sends requests at a steady rate, each with its own path. On a busy machine late requests are sent later: the rate is a
// goal, never asserted.

const TICK_MS = 50
const MOST_OPEN = 50

export class Load {
  readonly #address: (path: string) => string
  readonly #perTick: number
  #timer: NodeJS.Timeout | undefined
  #open = 0
  #sent = 0

  constructor(address: (path: string) => string, perSecond: number) {
    this.#address = address
    this.#perTick = (perSecond * TICK_MS) / 1_000
  }

  /** The number of answered requests. */
  get sent(): number {
    return this.#sent
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      for (let one = 0; one < this.#perTick && this.#open < MOST_OPEN; one++) void this.#send()
    }, TICK_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #send(): Promise<void> {
    this.#open += 1
    try {
      const answer = await fetch(this.#address(`/anything/load/${this.#sent}-${this.#open}-${Date.now()}`))
      await answer.arrayBuffer()
      this.#sent += 1
    } catch {
      // A closed connection is not an error here: the next request uses another one.
    } finally {
      this.#open -= 1
    }
  }
}
