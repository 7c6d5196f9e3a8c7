// SPDX-License-Identifier: Apache-2.0
// A panel with details that opens over the right edge of the page and takes the focus. Escape closes it, and the focus
// returns.

import { X } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react"
import "./card.css"

interface SidePanelProps {
  /** The panel's name for screen readers. */
  readonly label: string
  readonly title: ReactNode
  readonly close: () => void
  readonly children: ReactNode
}

export function SidePanel({ label, title, close, children }: SidePanelProps): ReactNode {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    panel.current?.focus({ preventScroll: true })
    return () => {
      // The body has the focus if the removed panel had it. A focus elsewhere stays where the user put it.
      if (document.activeElement === document.body && before instanceof HTMLElement)
        before.focus({ preventScroll: true })
    }
  }, [])
  const pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return
    event.stopPropagation()
    close()
  }
  return (
    <section className="panel" aria-label={label} tabIndex={-1} ref={panel} onKeyDown={pressed}>
      <header>
        <h2 className="panel-title">{title}</h2>
        <button type="button" className="quiet" onClick={close}>
          <X className="icon" aria-hidden={true} />
          Close
        </button>
      </header>
      <div className="content">{children}</div>
    </section>
  )
}
