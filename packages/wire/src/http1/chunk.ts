// SPDX-License-Identifier: Apache-2.0
// Writes the chunked coding (RFC 9112 section 7.1).

import type { FieldPairs, Fields } from "../http/fields.js"

/** Precedes a chunk's content; CRLF follows the content. */
export function chunkStart(size: number): string {
  return `${size.toString(16)}\r\n`
}

const LAST_CHUNK = "0\r\n\r\n"

/** The end of a chunked body with these trailer lines. */
export function lastChunk(trailerLines: string): string {
  return trailerLines === "" ? LAST_CHUNK : `0\r\n${trailerLines}\r\n`
}

export function pairLines(pairs: FieldPairs): string {
  return pairs.map(([name, value]) => `${name}: ${value}\r\n`).join("")
}

/** The lines for which `keep(lowerCaseName)` is true, as received. */
export function trailerLines(trailers: Fields | undefined, keep: (name: string) => boolean): string {
  let lines = ""
  for (let index = 0; index < (trailers?.size ?? 0); index++) {
    if (trailers !== undefined && keep(trailers.name(index))) lines += trailers.line(index)
  }
  return lines
}
