// SPDX-License-Identifier: Apache-2.0
// Says that the control plane does not answer, for as long as it does not: what is shown is then what was known last.

import type { ReactNode } from "react"
import { Clock } from "../ui/time.js"
import { useAwaySince } from "./connection.js"

export function Away(): ReactNode {
  const since = useAwaySince()
  return (
    <div aria-live="assertive">
      {since !== undefined && (
        <p className="away">
          The control plane does not answer since <Clock at={new Date(since).toISOString()} />. Proxies go on enforcing
          what they have; what is shown here is what was known then. The console tries again by itself.
        </p>
      )}
    </div>
  )
}
