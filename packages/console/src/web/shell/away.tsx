// SPDX-License-Identifier: Apache-2.0
// The banner that is shown while the control plane does not answer: the page then shows the last known state.

import type { ReactNode } from "react"
import { Clock } from "../ui/time.js"
import { useAwaySince } from "./connection.js"

export function Away(): ReactNode {
  const since = useAwaySince()
  return (
    <div aria-live="assertive">
      {since !== undefined && (
        <p className="away">
          The control plane has not answered since <Clock at={new Date(since).toISOString()} />. Proxies keep enforcing
          their policies. This page shows the last known state and retries.
        </p>
      )}
    </div>
  )
}
