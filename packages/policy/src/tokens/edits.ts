// SPDX-License-Identifier: Apache-2.0
// The changes to make to a request before the application sees it, as a value: first removals, then headers to set. Most
// requests share one of a few frozen constants, so the common path allocates nothing.

import type { HeaderLines } from "../request/attributes.js"
import type { ProtectedHeaders } from "../request/protected-headers.js"

export interface RequestEdits {
  /** Names in lower case; every line of such a header is removed. */
  readonly removeHeaders: readonly string[]
  /** Lower-case names with values of one character per byte (latin1), one entry for each line. */
  readonly setHeaders: readonly (readonly [name: string, value: string])[]
  /** The request target without its tokens; undefined if it does not change. */
  readonly target: string | undefined
  /** A single `Cookie` line that replaces all others; undefined if they do not change. */
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
 * The headers as the application and the rules see them: a caller who sends an output header must not get the rights of
 * one whose token has that claim. `own` is the value that the proxy sets for a name, undefined if the caller may set
 * it.
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
      const current = own(name)
      if (current !== undefined) return current.length === 0 ? undefined : current
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
