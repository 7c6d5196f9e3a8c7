// SPDX-License-Identifier: Apache-2.0
// The dynamic table of RFC 7541 section 2.3.2: the newest field has index 1, and the oldest go when there is no room.

import type { Field } from "../field.js"

/** RFC 9113 section 6.5.2. */
export const DEFAULT_TABLE_SIZE = 4_096
/** RFC 7541 section 4.1: what a field costs beside its text. */
const OVERHEAD = 32

export class DynamicTable {
  /** From oldest to newest, as far as `#first`; what lies before it has gone. */
  #fields: Field[] = []
  #first = 0
  #size = 0
  #limit: number
  /** How many fields have ever gone: the one at place p of all that were ever added has index `added - p`. */
  #gone = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Fields that were ever added. */
  get added(): number {
    return this.#gone + this.#fields.length - this.#first
  }

  get limit(): number {
    return this.#limit
  }

  /** By its index, which begins with 1. */
  at(index: number): Field | undefined {
    const place = this.#fields.length - index
    return place < this.#first ? undefined : this.#fields[place]
  }

  /** Answers what had to go for it, from the oldest on. Where it has no room itself, the table is empty afterwards. */
  add(field: Field): readonly Field[] {
    const size = sizeOf(field)
    const gone = this.#shrink(this.#limit - size)
    if (size <= this.#limit) {
      this.#fields.push(field)
      this.#size += size
    }
    return gone
  }

  resize(limit: number): readonly Field[] {
    this.#limit = limit
    return this.#shrink(limit)
  }

  #shrink(limit: number): readonly Field[] {
    if (this.#size <= limit) return NONE
    const gone: Field[] = []
    while (this.#size > limit && this.#first < this.#fields.length) {
      const oldest = this.#fields[this.#first]
      if (oldest === undefined) break
      this.#first++
      this.#gone++
      this.#size -= sizeOf(oldest)
      gone.push(oldest)
    }
    // Moved together now and then, so that what has gone is let go of.
    if (this.#first > 64 || this.#first === this.#fields.length) {
      this.#fields = this.#fields.slice(this.#first)
      this.#first = 0
    }
    return gone
  }
}

const NONE: readonly Field[] = []

export function sizeOf({ name, value }: Field): number {
  return name.length + value.length + OVERHEAD
}
