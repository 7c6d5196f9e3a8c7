// SPDX-License-Identifier: Apache-2.0
// How streams ended that ended lately. After a reset of ours the peer may go on for as long as it takes to hear of it;
// after its own end it may not (RFC 9113 section 5.1).

const REMEMBERED = 512

export class ClosedStreams {
  readonly #how = new Map<number, boolean>()

  add(stream: number, resetByUs: boolean): void {
    this.#how.set(stream, resetByUs)
    if (this.#how.size <= REMEMBERED) return
    for (const oldest of this.#how.keys()) {
      this.#how.delete(oldest)
      return
    }
  }

  how(stream: number): "reset" | "ended" | "unknown" {
    const reset = this.#how.get(stream)
    return reset === undefined ? "unknown" : reset ? "reset" : "ended"
  }
}
