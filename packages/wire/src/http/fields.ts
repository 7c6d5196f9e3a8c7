// SPDX-License-Identifier: Apache-2.0
// The headers or trailers of one message, in either version of HTTP. Bytes are latin1 characters throughout, so what is
// written is what was read.

import type { FieldKind } from "../http2/field-kind.js"

/** Names in lower case with their values, in order. */
export type FieldPairs = readonly (readonly [name: string, value: string])[]

export interface Fields {
  /** The values of a name, line by line. */
  get(lowerCaseName: string): readonly string[] | undefined
  readonly size: number
  /** In lower case. */
  name(index: number): string
  value(index: number): string
  kind(index: number): FieldKind
  /** Whether the sender wants it in no table (RFC 7541 section 7.1.3). */
  sensitive(index: number): boolean
  /** Whether there was a line of the kind. */
  has(kind: FieldKind): boolean
  /** Takes the lines of these names out, as if they had not been sent. */
  remove(lowerCaseNames: readonly string[]): void
  /** As it is written in HTTP/1.1, with its line end. */
  line(index: number): string
  /** The lines for which it holds, as they are written in HTTP/1.1. */
  lines(keep: (index: number) => boolean): string
}

/** The lines for which it holds, by lower-case name. */
export function pairsOf(fields: Fields | undefined, keep: (name: string, index: number) => boolean): FieldPairs {
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; fields !== undefined && index < fields.size; index++) {
    const name = fields.name(index)
    if (keep(name, index)) pairs.push([name, fields.value(index)])
  }
  return pairs
}

/** Whether a comma-separated list in lower case has the option. */
export function hasOption(list: string, option: string): boolean {
  if (list === option) return true
  return list.includes(option) && list.split(",").some(entry => entry.trim() === option)
}
