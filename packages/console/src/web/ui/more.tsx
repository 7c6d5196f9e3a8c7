// SPDX-License-Identifier: Apache-2.0
// A note that a list is longer than the part shown, and where to find the rest.

import type { ReactNode } from "react"
import { count } from "./time.js"
import { Worded } from "./worded.js"

interface MoreProps {
  readonly shown: number
  readonly of: number
  /** Where to find the rest. */
  readonly hint?: string
}

export function More({ shown, of, hint = "use the search" }: MoreProps): ReactNode {
  if (of <= shown) return null
  return (
    <p className="hint">
      {count(of - shown)} more: <Worded text={hint} />
    </p>
  )
}
