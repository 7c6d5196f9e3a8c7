// SPDX-License-Identifier: Apache-2.0
// The dynamic table of RFC 7541 section 2.3.2: the newest field has index 1, and the oldest fields are evicted when
// there is no room.

import type { Field } from "../field.js"

/** The default of SETTINGS_HEADER_TABLE_SIZE (RFC 9113 section 6.5.2). */
export const DEFAULT_TABLE_SIZE = 4_096
/** RFC 7541 section 4.1: the size of a field besides its text. */
const OVERHEAD = 32

export class DynamicTable {
  /** Oldest first; entries before `#first` have been evicted. */
  #fields: Field[] = []
  #first = 0
  #size = 0
  #limit: number
  /**
   * Number of fields that were evicted so far. Of all fields that were ever added, the one at position p has index
   * `added - p`.
   */
  #evicted = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Number of fields that were ever added. */
  get added(): number {
    return this.#evicted + this.#fields.length - this.#first
  }

  get limit(): number {
    return this.#limit
  }

  /** The field with this index; indexes begin with 1. */
  at(index: number): Field | undefined {
    const place = this.#fields.length - index
    return place < this.#first ? undefined : this.#fields[place]
  }

  /**
   * Returns the fields that were evicted to make room, oldest first. If the field itself is too large, the table is
   * empty afterwards.
   */
  add(field: Field): readonly Field[] {
    const size = sizeOf(field)
    const evicted = this.#shrink(this.#limit - size)
    if (size <= this.#limit) {
      this.#fields.push(field)
      this.#size += size
    }
    return evicted
  }

  resize(limit: number): readonly Field[] {
    this.#limit = limit
    return this.#shrink(limit)
  }

  #shrink(limit: number): readonly Field[] {
    if (this.#size <= limit) return NONE
    const evicted: Field[] = []
    while (this.#size > limit && this.#first < this.#fields.length) {
      const oldest = this.#fields[this.#first]
      if (oldest === undefined) break
      this.#first++
      this.#evicted++
      this.#size -= sizeOf(oldest)
      evicted.push(oldest)
    }
    // Compacted now and then, so that evicted fields can be garbage collected.
    if (this.#first > 64 || this.#first === this.#fields.length) {
      this.#fields = this.#fields.slice(this.#first)
      this.#first = 0
    }
    return evicted
  }
}

const NONE: readonly Field[] = []

export function sizeOf({ name, value }: Field): number {
  return name.length + value.length + OVERHEAD
}
