// SPDX-License-Identifier: Apache-2.0
// A kind of requests with two tokens, and how each side of a comparison judges them.

import type { Problem } from "./search/formula.js"

/** How a side judges two tokens: it rejects one, or its rules see the claims of one, or of none. */
export type TokenVerdict = "unauthenticated" | { readonly identity: 0 | 1 | undefined }

export interface TokenPair {
  readonly places: readonly [string, string]
  /** Which rules accept which token. */
  readonly given: Problem
  /** One verdict for each side. */
  readonly verdicts: readonly TokenVerdict[]
}

export interface Pattern {
  /** The acceptances of the rules that accept the token. */
  readonly by: ReadonlySet<string>
  readonly given: Problem
}
