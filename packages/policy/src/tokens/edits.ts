// SPDX-License-Identifier: Apache-2.0
// The changes to make to a request before the application sees it, as a value: first removals, then headers to set. Most
// requests share one of a few frozen constants, so the common path allocates nothing.

import type { HeaderLines } from "../request/attributes.js"
import type { ProtectedHeaders } from "../request/protected-headers.js"

export interface RequestEdits {
  /** Lower-case names; every line of such a header goes. */
  readonly removeHeaders: readonly string[]
  /** Lower-case names with values of one character per byte (latin1), one entry for each line. */
  readonly setHeaders: readonly (readonly [name: string, value: string])[]
  /** The request target without its tokens; undefined where it stays as it is. */
  readonly target: string | undefined
  /** One `Cookie` line in place of all there were; undefined where they stay as they are. */
  readonly cookie: string | undefined
}

const NONE: readonly never[] = Object.freeze([])

export const NO_EDITS: RequestEdits = Object.freeze({
  removeHeaders: NONE,
  setHeaders: NONE,
  target: undefined,
  cookie: undefined,
})

export function removalOf(...headers: readonly string[]): RequestEdits {
  return Object.freeze({ ...NO_EDITS, removeHeaders: Object.freeze([...headers]) })
}

/**
 * The headers as the application will see them, which are those that rules read: a caller who sends an output header of his
 * own must not pass for one whose token says so. `own` is what the proxy says under a name, undefined where the caller may.
 */
export function forwardedHeaders(
  received: HeaderLines,
  { removeHeaders, setHeaders, cookie }: RequestEdits,
  protectedHeaders: ProtectedHeaders,
  own: (lowerCaseName: string) => readonly string[] | undefined,
): HeaderLines {
  return {
    get(name) {
      const written = linesOf(name, setHeaders)
      if (written !== undefined) return written
      const said = own(name)
      if (said !== undefined) return said.length === 0 ? undefined : said
      if (removeHeaders.includes(name) || protectedHeaders.dropsHeader(name)) return undefined
      return name === "cookie" && cookie !== undefined ? [cookie] : received.get(name)
    },
  }
}

function linesOf(name: string, setHeaders: RequestEdits["setHeaders"]): readonly string[] | undefined {
  let lines: string[] | undefined
  for (const [set, value] of setHeaders) {
    if (set !== name) continue
    lines ??= []
    lines.push(value)
  }
  return lines
}
