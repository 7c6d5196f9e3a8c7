// SPDX-License-Identifier: Apache-2.0
// That there is more than is shown: nobody reads a thousand rows, and a page that draws them answers nobody.

import type { ReactNode } from "react"
import { count } from "./time.js"

interface MoreProps {
  readonly shown: number
  readonly of: number
  /** Where to find the rest. */
  readonly hint?: string
}

export function More({ shown, of, hint = "search for them" }: MoreProps): ReactNode {
  if (of <= shown) return null
  return (
    <p className="hint">
      and {count(of - shown)} more; {hint}
    </p>
  )
}
