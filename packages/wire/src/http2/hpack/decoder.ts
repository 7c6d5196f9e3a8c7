// SPDX-License-Identifier: Apache-2.0
// Decodes header blocks (RFC 7541). The peer chooses the table's contents and how often they are used, so a list is
// counted while it is decoded. Beyond the limits nothing is kept, but decoding continues, because the table must stay
// in sync with the peer's.

import { type BorrowedBytes, NO_BYTES } from "../../sockets/borrowed-reads.js"
import { Field } from "../field.js"
import { decodeHuffman } from "./huffman.js"
import { STATIC_TABLE } from "./static-table.js"
import { DEFAULT_TABLE_SIZE, DynamicTable } from "./table.js"

/** Why a list is incomplete. */
export type ListError = "head-too-large" | "too-many-headers"

/** What a field counts in a list besides its text, as HTTP/1.1 would write it: colon, space, line end. */
const LINE = 4
/** No valid length or index is larger, so further bytes of an integer are an attack (RFC 7541 section 5.1). */
const MAX_INTEGER = 1 << 24
const MAX_SHIFT = 21

export class HpackDecoder {
  readonly #table = new DynamicTable(DEFAULT_TABLE_SIZE)
  readonly #maxBytes: number
  readonly #maxFields: number
  #bytes: BorrowedBytes = NO_BYTES
  #at = 0
  #end = 0
  /** After an undecodable block the table may be out of sync, so the connection cannot be used. */
  #failed = false
  /** The error of the last list. */
  error: ListError | undefined

  constructor(maxListBytes: number, maxFields: number) {
    this.#maxBytes = maxListBytes
    this.#maxFields = maxFields
  }

  /**
   * The fields of one complete block, without those beyond the limits; undefined if it cannot be decoded
   * (COMPRESSION_ERROR).
   */
  decode(bytes: BorrowedBytes, from: number, to: number): Field[] | undefined {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    this.error = undefined
    const list: Field[] = []
    let size = 0
    let updatable = true
    while (this.#at < to && !this.#failed) {
      const first = bytes[this.#at] ?? 0
      if ((first & 0xe0) === 0x20) {
        // RFC 7541 section 4.2: only at the beginning of a block, and never larger than we announced.
        const limit = this.#integer(0x1f)
        if (!updatable || limit > DEFAULT_TABLE_SIZE) this.#failed = true
        else this.#table.resize(limit)
        continue
      }
      updatable = false
      const field = this.#field(first)
      if (field === undefined) break
      size += field.name.length + field.value.length + LINE
      if (size > this.#maxBytes) this.error ??= "head-too-large"
      else if (list.length === this.#maxFields) this.error ??= "too-many-headers"
      else if (this.error === undefined) list.push(field)
    }
    // Otherwise the read buffer that held the block would stay alive until the next block.
    this.#bytes = NO_BYTES
    return this.#failed ? undefined : list
  }

  #field(first: number): Field | undefined {
    if (first >= 0x80) return this.#indexed(this.#integer(0x7f))
    const added = first >= 0x40
    const index = this.#integer(added ? 0x3f : 0x0f)
    const name = index === 0 ? this.#text() : this.#indexed(index)?.name
    const value = this.#text()
    if (this.#failed || name === undefined) return undefined
    const field = new Field(name, value, !added && (first & 0x10) !== 0)
    if (added) this.#table.add(field)
    return field
  }

  #indexed(index: number): Field | undefined {
    const field = index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.at(index - STATIC_TABLE.length)
    if (field === undefined) this.#failed = true
    return field
  }

  /** An integer with a prefix (RFC 7541 section 5.1). */
  #integer(mask: number): number {
    let value = (this.#bytes[this.#at++] ?? 0) & mask
    if (value < mask) return value
    for (let shift = 0; shift <= MAX_SHIFT; shift += 7) {
      if (this.#at >= this.#end) break
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte & 0x7f) << shift
      if (byte < 0x80 && value < MAX_INTEGER) return value
    }
    this.#failed = true
    return 0
  }

  #text(): string {
    if (this.#at >= this.#end) this.#failed = true
    if (this.#failed) return ""
    const huffman = (this.#bytes[this.#at] ?? 0) >= 0x80
    const length = this.#integer(0x7f)
    const from = this.#at
    const to = from + length
    if (to > this.#end) this.#failed = true
    if (this.#failed) return ""
    this.#at = to
    const text = huffman ? decodeHuffman(this.#bytes, from, to) : this.#bytes.toString("latin1", from, to)
    if (text === undefined) this.#failed = true
    return text ?? ""
  }
}
