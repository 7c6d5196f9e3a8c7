// SPDX-License-Identifier: Apache-2.0
// An empty list: why it is empty, and what fills it.

import { Inbox } from "lucide-react"
import type { ReactNode } from "react"
import "./card.css"

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <Inbox aria-hidden={true} />
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  )
}
