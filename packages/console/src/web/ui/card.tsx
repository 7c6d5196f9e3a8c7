// SPDX-License-Identifier: Apache-2.0
// The header of a page, and cards: sections of a page, labelled by their titles.

import { type ReactNode, useId } from "react"
import "./card.css"

interface PageHeadProps {
  readonly title: ReactNode
  readonly sub?: ReactNode
  readonly className?: string
  /** Buttons and links at the right. */
  readonly children?: ReactNode
}

export function PageHead({ title, sub, className = "", children }: PageHeadProps): ReactNode {
  return (
    <div className={`page-head ${className}`}>
      <div>
        <h1>{title}</h1>
        {sub !== undefined && <p className="sub">{sub}</p>}
      </div>
      {children !== undefined && <div className="actions">{children}</div>}
    </div>
  )
}

interface CardProps {
  readonly title: string
  readonly note?: ReactNode
  /** No padding, for tables and lists that have their own. */
  readonly flush?: boolean
  readonly className?: string
  readonly children: ReactNode
}

export function Card({ title, note, flush = false, className = "", children }: CardProps): ReactNode {
  const id = useId()
  return (
    <section className={`card ${className}`} aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="note">{note}</span>}
      </div>
      <div className={flush ? "flush" : "body"}>{children}</div>
    </section>
  )
}
