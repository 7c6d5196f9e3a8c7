// SPDX-License-Identifier: Apache-2.0
// A policy from the calls that were seen, asked for when somebody wants one.

import { lazy, type ReactNode, Suspense, useState } from "react"
import { useMayAsk } from "../../api/rights.js"

// It brings the editor.
const Suggestion = lazy(() => import("./suggestion.js"))

export function SuggestPolicy({ workload }: { readonly workload: string }): ReactNode {
  const mayAsk = useMayAsk("suggestions")
  const [wanted, setWanted] = useState(false)
  if (mayAsk !== true) return null
  return (
    <section aria-labelledby="enough">
      <h2 id="enough">What would be enough</h2>
      {!wanted && (
        <button type="button" onClick={() => setWanted(true)}>
          Suggest a policy from what was seen
        </button>
      )}
      {wanted && (
        <Suspense fallback={<p role="status">Loading…</p>}>
          <Suggestion workload={workload} />
        </Suspense>
      )}
    </section>
  )
}
