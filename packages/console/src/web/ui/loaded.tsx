// SPDX-License-Identifier: Apache-2.0
// The result of a query, a skeleton while it loads, or the error. The last known result stays while it cannot be refreshed.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Failure } from "./failure.js"
import "./card.css"

interface LoadedProps<T> {
  readonly query: UseQueryResult<T, Error>
  readonly children: (data: T) => ReactNode
}

export function Loaded<T>({ query, children }: LoadedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <Failure error={query.error} />
  return <Skeleton />
}

export function Skeleton(): ReactNode {
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">Loading…</span>
      <i />
      <i />
      <i />
    </div>
  )
}
