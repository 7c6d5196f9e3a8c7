// SPDX-License-Identifier: Apache-2.0
// How many fetches run at a time. Issuers that failed last time share half of the places, so that a crowd of dead
// servers, each holding its place until the timeout, leaves the other half to those that answer.

export class FetchSlots {
  readonly #places: number
  #taken = 0
  #takenBySuspects = 0
  readonly #waiting: { readonly suspect: boolean; readonly start: () => void }[] = []

  constructor(places: number) {
    this.#places = places
  }

  /** Calls `start` when there is a place. Returns what gives the place back, or gives up waiting for one. */
  take(suspect: boolean, start: () => void): () => void {
    let state: "waiting" | "running" | "done" = "waiting"
    const entry = {
      suspect,
      start: () => {
        state = "running"
        start()
      },
    }
    this.#waiting.push(entry)
    this.#admit()
    return () => {
      if (state === "waiting") this.#waiting.splice(this.#waiting.indexOf(entry), 1)
      if (state === "running") {
        this.#taken--
        if (suspect) this.#takenBySuspects--
      }
      state = "done"
      this.#admit()
    }
  }

  #admit(): void {
    while (this.#taken < this.#places) {
      const suspectsFull = this.#takenBySuspects >= Math.floor(this.#places / 2)
      const index = this.#waiting.findIndex(({ suspect }) => !(suspect && suspectsFull))
      const [entry] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (entry === undefined) return
      this.#taken++
      if (entry.suspect) this.#takenBySuspects++
      entry.start()
    }
  }
}
