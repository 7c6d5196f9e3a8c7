// SPDX-License-Identifier: Apache-2.0
// A button that the user lacks the right for: disabled, with the reason and the role that helps beside it.

import { type ReactNode, useId } from "react"

interface DisabledButtonProps {
  readonly label: string
  /** Why, and which role helps. */
  readonly children: ReactNode
}

export function DisabledButton({ label, children }: DisabledButtonProps): ReactNode {
  const reason = useId()
  return (
    <div className="disabled-button">
      <p className="hint" id={reason}>
        {children}
      </p>
      <button type="button" disabled={true} aria-describedby={reason}>
        {label}
      </button>
    </div>
  )
}
