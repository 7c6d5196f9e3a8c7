// SPDX-License-Identifier: Apache-2.0
// A button that shows the smallest change that allows a denied call, and the change once it is shown. The change stays on
// the page after it is applied, though the explanation no longer contains it then.

import { lazy, type ReactNode, Suspense, useState } from "react"
import { Skeleton } from "../../ui/loaded.js"
import type { Edit } from "./apply-edits.js"

// Loaded when needed, since it depends on the YAML library.
const AllowChange = lazy(() => import("./allow-change.js"))

interface AllowThisProps {
  readonly change: readonly Edit[]
  /** Whether to show the change immediately, without the button. */
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
