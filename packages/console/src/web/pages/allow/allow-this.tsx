// SPDX-License-Identifier: Apache-2.0
// The button that shows the smallest change that allows a denied call, and then that change. It stays once it was shown: after
// it was applied, the explanation names none any more.

import { lazy, type ReactNode, Suspense, useState } from "react"
import { Skeleton } from "../../ui/loaded.js"
import type { Edit } from "./apply-edits.js"

// It brings YAML.
const AllowChange = lazy(() => import("./allow-change.js"))

interface AllowThisProps {
  readonly change: readonly Edit[]
  /** Whether it shows the change at once. */
  readonly atOnce?: boolean
}

export function AllowThis({ change, atOnce = false }: AllowThisProps): ReactNode {
  const [shown, show] = useState(atOnce && change.length > 0 ? change : undefined)
  if (shown !== undefined) {
    return (
      <Suspense fallback={<Skeleton />}>
        <AllowChange change={shown} />
      </Suspense>
    )
  }
  if (change.length === 0) return null
  return (
    <button type="button" className="primary" onClick={() => show(change)}>
      Allow this…
    </button>
  )
}
