// SPDX-License-Identifier: Apache-2.0
// Encodes header blocks (RFC 7541) as latin1 text, like all socket output. Repeated fields are added to the table and
// Huffman-coded, because that is done once. Fields that differ each time are written as plain literals.

import { Field } from "../field.js"
import { encodeHuffman, huffmanLength } from "./huffman.js"
import { STATIC_TABLE } from "./static-table.js"
import { DEFAULT_TABLE_SIZE, DynamicTable, sizeOf } from "./table.js"

/** RFC 7541 section 7.1.3: never indexed, here or at an intermediary. */
const SENSITIVE: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "set-cookie"])

/** Values that are different in nearly every message. */
const VOLATILE: ReadonlySet<string> = new Set([
  ":path",
  "age",
  "b3",
  "content-length",
  "content-range",
  "etag",
  "grpc-message",
  "grpc-timeout",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "last-modified",
  "location",
  "range",
  "referer",
  "traceparent",
  "tracestate",
  "x-request-id",
])

/** A larger field would evict too many others. */
const MAX_ADDED = DEFAULT_TABLE_SIZE / 4

const INDEXED = Array.from({ length: 128 }, (_, index) => String.fromCharCode(0x80 | index))
/** All that is known about a name, in one map: fields are written with every message, and each lookup costs. */
interface KnownName {
  /** Its first index in the static table; 0 if it has none. */
  readonly index: number
  /** Indexes of complete fields with this name in the static table, by value. */
  readonly values: Map<string, number> | undefined
  readonly sensitive: boolean
  readonly volatile: boolean
}

const KNOWN = new Map<string, KnownName>()
const UNKNOWN: KnownName = { index: 0, values: undefined, sensitive: false, volatile: false }
STATIC_TABLE.forEach(({ name, value }, at) => {
  const known = KNOWN.get(name)
  const values = known?.values ?? new Map<string, number>()
  if (value !== "") values.set(value, at + 1)
  KNOWN.set(name, { ...UNKNOWN, index: known?.index ?? at + 1, values: values.size === 0 ? undefined : values })
})
for (const name of SENSITIVE) KNOWN.set(name, { ...(KNOWN.get(name) ?? UNKNOWN), sensitive: true })
for (const name of VOLATILE) KNOWN.set(name, { ...(KNOWN.get(name) ?? UNKNOWN), volatile: true })

export class HpackEncoder {
  readonly #largest: number
  readonly #table: DynamicTable
  /** By name and value, the position among all fields that were ever added; created with the first. */
  #places: Map<string, Map<string, number>> | undefined
  /** Table sizes to announce in the next block. */
  #resized: number[] = []
  #out = ""
  /** How often a block has changed the table, and that count when the current block began. */
  #changes = 0
  #begunAt = 0
  /** The last block, if it did not change the table, and the object that it was encoded from. */
  #source: object | undefined
  #block = ""

  /** A table larger than the default is not worth its memory. If there are few heads, no table is. */
  constructor(largestTable: number = DEFAULT_TABLE_SIZE) {
    this.#largest = largestTable
    this.#table = new DynamicTable(largestTable)
    if (largestTable < DEFAULT_TABLE_SIZE) this.#resized.push(largestTable)
  }

  /** Applies the peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(size: number): void {
    const limit = Math.min(size, this.#largest)
    if (limit === this.#table.limit) return
    this.#forget(this.#table.resize(limit))
    this.#changes++
    // RFC 7541 section 4.2: between two blocks the smallest and the last size must be announced.
    const smallest = Math.min(limit, ...this.#resized)
    this.#resized = smallest < limit ? [smallest, limit] : [limit]
  }

  /** Adds a field to the current block; `sensitive` if the sender marked it as never-indexed. */
  field(name: string, value: string, sensitive = false): void {
    if (this.#resized.length > 0) this.#tellSizes()
    const known = KNOWN.get(name) ?? UNKNOWN
    const fixed = known.values?.get(value)
    if (fixed !== undefined) {
      this.#out += INDEXED[fixed] ?? ""
      return
    }
    if (sensitive || known.sensitive) {
      this.#literal(0x10, 0x0f, known.index, name, value)
      return
    }
    if (known.volatile || this.#table.limit === 0 || name.length + value.length > MAX_ADDED) {
      this.#literal(0, 0x0f, known.index, name, value)
      return
    }
    const place = this.#places?.get(name)?.get(value)
    if (place !== undefined) {
      this.#integer(0x80, 0x7f, STATIC_TABLE.length + this.#table.added - place)
      return
    }
    this.#literal(0x40, 0x3f, known.index, name, value)
    this.#remember(name, value)
  }

  /**
   * Returns the block as latin1 text. The block of an immutable `source` is cached, in case the same source comes
   * again.
   */
  finish(source?: object): string {
    const block = this.#out
    this.#out = ""
    // INVARIANT: a block that changes the table is written only once, and a block from before the change would refer to
    // other fields.
    if (this.#changes !== this.#begunAt) this.#source = undefined
    else if (source !== undefined) {
      this.#source = source
      this.#block = block
    }
    this.#begunAt = this.#changes
    return block
  }

  /** The cached block of the same source, if encoding it again would give the same block. */
  blockOf(source: object): string | undefined {
    return source === this.#source && this.#changes === this.#begunAt ? this.#block : undefined
  }

  #remember(name: string, value: string): void {
    this.#changes++
    const field = new Field(name, value, false)
    const place = this.#table.added
    this.#forget(this.#table.add(field))
    if (sizeOf(field) > this.#table.limit) return
    this.#places ??= new Map()
    const values = this.#places.get(name)
    if (values === undefined) this.#places.set(name, new Map([[value, place]]))
    else values.set(value, place)
  }

  #forget(gone: readonly Field[]): void {
    // INVARIANT: a field is added only if it is not in the table, so each has one position.
    for (const { name, value } of gone) {
      const values = this.#places?.get(name)
      values?.delete(value)
      if (values?.size === 0) this.#places?.delete(name)
    }
  }

  #tellSizes(): void {
    for (const size of this.#resized) this.#integer(0x20, 0x1f, size)
    this.#resized = []
  }

  #literal(pattern: number, mask: number, index: number, name: string, value: string): void {
    this.#integer(pattern, mask, index)
    const squeezed = pattern === 0x40
    if (index === 0) this.#text(name, squeezed)
    this.#text(value, squeezed)
  }

  #text(text: string, squeezed: boolean): void {
    const length = squeezed ? huffmanLength(text) : text.length
    if (length < text.length) {
      this.#integer(0x80, 0x7f, length)
      this.#out += encodeHuffman(text)
    } else {
      this.#integer(0, 0x7f, text.length)
      this.#out += text
    }
  }

  /** An integer with a prefix (RFC 7541 section 5.1). */
  #integer(pattern: number, mask: number, value: number): void {
    if (value < mask) {
      this.#out += String.fromCharCode(pattern | value)
      return
    }
    this.#out += String.fromCharCode(pattern | mask)
    let rest = value - mask
    for (; rest >= 0x80; rest >>>= 7) this.#out += String.fromCharCode((rest & 0x7f) | 0x80)
    this.#out += String.fromCharCode(rest)
  }
}
