// SPDX-License-Identifier: Apache-2.0
// A disabled button for an action that the user has no permission for, with the reason and the role that grants it.

import { type ReactNode, useId } from "react"

interface DisabledButtonProps {
  readonly label: string
  /** The reason, and the role that grants the permission. */
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
