// SPDX-License-Identifier: Apache-2.0
// A compiled matcher of a MeshService: the exact value, a prefix, or an RE2 expression for the whole value.

import type { StringMatch } from "./definition.js"
import { compileExpression } from "./expression.js"

/** The matcher must be valid; an empty one matches nothing. */
export function stringMatcher({ exact, prefix, regex }: StringMatch): (value: string) => boolean {
  if (exact !== undefined) return value => value === exact
  if (prefix !== undefined) return value => value.startsWith(prefix)
  if (regex === undefined) return () => false
  const expression = compileExpression(regex)
  return value => expression.matches(value)
}
