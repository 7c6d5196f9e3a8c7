// SPDX-License-Identifier: Apache-2.0
// The chunked coding, written (RFC 9112 section 7.1).

import type { HeaderBlock } from "./header-block.js"

/** Goes before a chunk's content; CRLF goes after it. */
export function chunkStart(size: number): string {
  return `${size.toString(16)}\r\n`
}

export const LAST_CHUNK = "0\r\n\r\n"

/** The end of a body with the trailers for which `keep` holds, by lower-case name. */
export function lastChunk(trailers: HeaderBlock | undefined, keep: (name: string) => boolean): string {
  if (trailers === undefined) return LAST_CHUNK
  let text = "0\r\n"
  for (let index = 0; index < trailers.size; index++) {
    if (keep(trailers.name(index))) text += trailers.text.slice(trailers.lineStart(index), trailers.lineEnd(index))
  }
  return `${text}\r\n`
}
