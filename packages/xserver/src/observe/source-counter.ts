// SPDX-License-Identifier: Apache-2.0
// Requests by the caller's identity and verdict. Only the mesh's authority issues identities, but a mesh may have
// thousands: the first hundred have their own label, the rest share one.

import type { Registry } from "prom-client"
import { TalliedCounter, type Tally } from "./tallied-counter.js"

const MOST_SOURCES = 100
const OTHERS = "(others)"
/** A name that no identity can have. */
const PLAINTEXT = "(plaintext)"

export class SourceCounter {
  readonly #counter: TalliedCounter
  readonly #sources = new Set<string>()
  /** The last tally: most requests have the same caller and verdict as the one before. */
  #last: { readonly peer: string | undefined; readonly verdict: string; readonly tally: Tally } | undefined

  constructor(name: string, registers: Registry[]) {
    const help = "requests and TCP connections by the identity that the caller proved, and verdict"
    this.#counter = new TalliedCounter({ name, help, labelNames: ["source", "verdict"], registers })
  }

  add(peer: string | undefined, verdict: string): void {
    if (this.#last?.peer !== peer || this.#last?.verdict !== verdict) {
      this.#last = { peer, verdict, tally: this.#counter.of(this.#label(peer), verdict) }
    }
    this.#last.tally.count++
  }

  #label(peer: string | undefined): string {
    if (peer === undefined) return PLAINTEXT
    if (this.#sources.has(peer)) return peer
    if (this.#sources.size >= MOST_SOURCES) return OTHERS
    this.#sources.add(peer)
    return peer
  }
}
