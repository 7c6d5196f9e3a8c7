// SPDX-License-Identifier: Apache-2.0
// The headers or trailers of one message, in either version of HTTP. Bytes are latin1 characters throughout, so they
// are written exactly as they were read.

import type { FieldKind } from "../http2/field-kind.js"

/** Lower-case names with their values, in order. */
export type FieldPairs = readonly (readonly [name: string, value: string])[]

export interface Fields {
  /** The values of a name, one per line. */
  get(lowerCaseName: string): readonly string[] | undefined
  readonly size: number
  /** In lower case. */
  name(index: number): string
  value(index: number): string
  kind(index: number): FieldKind
  /** Whether the sender marked the field as never-indexed (RFC 7541 section 7.1.3). */
  sensitive(index: number): boolean
  /** Whether there is a line of this kind. */
  has(kind: FieldKind): boolean
  /** Removes the lines with these names, as if they had not been sent. */
  remove(lowerCaseNames: readonly string[]): void
  /** The line as written in HTTP/1.1, including its line end. */
  line(index: number): string
  /** The lines for which `keep` is true, as written in HTTP/1.1. */
  lines(keep: (index: number) => boolean): string
}

/** The lines for which `keep` is true, as pairs of lower-case name and value. */
export function pairsOf(fields: Fields | undefined, keep: (name: string, index: number) => boolean): FieldPairs {
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; fields !== undefined && index < fields.size; index++) {
    const name = fields.name(index)
    if (keep(name, index)) pairs.push([name, fields.value(index)])
  }
  return pairs
}

/** Whether a comma-separated list, in lower case, contains the option. */
export function hasOption(list: string, option: string): boolean {
  if (list === option) return true
  return list.includes(option) && list.split(",").some(entry => entry.trim() === option)
}
