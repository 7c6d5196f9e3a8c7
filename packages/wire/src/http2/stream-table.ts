// SPDX-License-Identifier: Apache-2.0
// The open streams of one connection by their number. Streams come and go with every request, and a Map is made anew every
// few of them: each of its tables points to the next, so one that has grown old keeps all that came after it alive, with
// every request that was in them. This one is written over in place.

import type { Stream } from "./stream.js"

const FIRST_CAPACITY = 16

export class StreamTable {
  /** Of a power of two, at most half full: a stream lies at its number's place or, where that is taken, soon after. */
  #slots: (Stream | undefined)[] = empty(FIRST_CAPACITY)
  size = 0

  get(id: number): Stream | undefined {
    const mask = this.#slots.length - 1
    for (let at = home(id) & mask; ; at = (at + 1) & mask) {
      const stream = this.#slots[at]
      if (stream === undefined || stream.id === id) return stream
    }
  }

  /** Its number is not among those that are there. */
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

  /** As they are now, whatever becomes of the table; from the oldest to the newest. */
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

/** The numbers of one side's streams are two apart. */
function home(id: number): number {
  return id >>> 1
}

function empty(capacity: number): (Stream | undefined)[] {
  return new Array<Stream | undefined>(capacity).fill(undefined)
}
