// SPDX-License-Identifier: Apache-2.0
// A question's answer, or that it is awaited, or why there is none. What was known stays while it cannot be asked again.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Failure } from "./failure.js"

interface LoadedProps<T> {
  readonly query: UseQueryResult<T, Error>
  readonly children: (data: T) => ReactNode
}

export function Loaded<T>({ query, children }: LoadedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <Failure error={query.error} />
  return (
    <p className="hint" role="status">
      Loading…
    </p>
  )
}
