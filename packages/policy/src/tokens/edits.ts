// SPDX-License-Identifier: Apache-2.0
// What has to change in a request before the application sees it, as a value that whoever forwards applies: first the
// removals, then the headers that are set. Most requests share one of a few frozen constants, so the common path
// allocates nothing here.

import type { HeaderLines } from "../request/attributes.js"

export interface RequestEdits {
  /** Lower-case names; every line of such a header goes. */
  readonly removeHeaders: readonly string[]
  /** Lower-case names with values of one character per byte (latin1), one line each. */
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
 * The headers as the application will see them. Authorization judges these: a caller who sends an output header of his
 * own must not pass for one whose token says so.
 */
export function editedHeaders(headers: HeaderLines, edits: RequestEdits): HeaderLines {
  const { removeHeaders, setHeaders, cookie } = edits
  if (removeHeaders.length === 0 && setHeaders.length === 0 && cookie === undefined) return headers
  return {
    get(name) {
      for (const [set, value] of setHeaders) if (set === name) return [value]
      if (removeHeaders.includes(name)) return undefined
      return name === "cookie" && cookie !== undefined ? [cookie] : headers.get(name)
    },
  }
}
