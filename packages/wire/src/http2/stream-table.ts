// SPDX-License-Identifier: Apache-2.0
// The open streams of one connection by id. Streams come and go with every request, and a Map would rebuild its table
// every few requests. Each old table points to the next one, so a table in the old generation keeps all later tables
// alive, and the requests in them. This table is overwritten in place.

import type { Stream } from "./stream.js"

const FIRST_CAPACITY = 16

export class StreamTable {
  /**
   * The length is a power of two, and at most half is used. A stream is in its id's slot or, if that is taken, in one
   * of the next.
   */
  #slots: (Stream | undefined)[] = empty(FIRST_CAPACITY)
  size = 0

  get(id: number): Stream | undefined {
    const mask = this.#slots.length - 1
    for (let at = home(id) & mask; ; at = (at + 1) & mask) {
      const stream = this.#slots[at]
      if (stream === undefined || stream.id === id) return stream
    }
  }

  /** The id must not be in the table yet. */
  add(stream: Stream): void {
    if (++this.size * 2 > this.#slots.length) {
      const streams = this.all()
      this.#slots = empty(this.#slots.length * 2)
      for (const each of streams) this.#put(each)
    }
    this.#put(stream)
  }

  delete(id: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let hole = home(id) & mask
    while (slots[hole] !== undefined && slots[hole]?.id !== id) hole = (hole + 1) & mask
    if (slots[hole] === undefined) return
    this.size--
    slots[hole] = undefined
    // Later entries that could not get their slot move up. Otherwise lookups would stop at the gap and miss them.
    for (let at = (hole + 1) & mask; ; at = (at + 1) & mask) {
      const stream = slots[at]
      if (stream === undefined) return
      const wanted = home(stream.id) & mask
      if (((at - wanted) & mask) < ((at - hole) & mask)) continue
      slots[hole] = stream
      slots[at] = undefined
      hole = at
    }
  }

  /** A copy of the current streams, from oldest to newest. */
  all(): readonly Stream[] {
    const found: Stream[] = []
    for (const stream of this.#slots) if (stream !== undefined) found.push(stream)
    return found.sort((a, b) => a.id - b.id)
  }

  #put(stream: Stream): void {
    const mask = this.#slots.length - 1
    let at = home(stream.id) & mask
    while (this.#slots[at] !== undefined) at = (at + 1) & mask
    this.#slots[at] = stream
  }
}

/** Ids of one side's streams are two apart. */
function home(id: number): number {
  return id >>> 1
}

function empty(capacity: number): (Stream | undefined)[] {
  return new Array<Stream | undefined>(capacity).fill(undefined)
}
