// SPDX-License-Identifier: Apache-2.0
// A least-privilege policy from recorded calls, on request.

import { lazy, type ReactNode, Suspense, useState } from "react"
import { useMayAsk } from "../../api/rights.js"

import { Card } from "../../ui/card.js"
import { Skeleton } from "../../ui/loaded.js"

// Loaded when needed, since it depends on the editor.
const Suggestion = lazy(() => import("./suggestion.js"))

export function SuggestPolicy({ workload }: { readonly workload: string }): ReactNode {
  const mayAsk = useMayAsk("suggestions")
  const [wanted, setWanted] = useState(false)
  if (mayAsk !== true) return null
  return (
    <Card title="Least-privilege policy">
      {!wanted && (
        <button type="button" onClick={() => setWanted(true)}>
          Suggest a policy from recorded calls
        </button>
      )}
      {wanted && (
        <Suspense fallback={<Skeleton />}>
          <Suggestion workload={workload} />
        </Suspense>
      )}
    </Card>
  )
}
