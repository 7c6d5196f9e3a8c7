// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react"
import { Link } from "wouter"
import { TEMPLATES } from "./templates.js"

/** New policies, by what they are for. */
export function TemplateLinks(): ReactNode {
  return (
    <nav aria-label="New policy" className="bar">
      <span className="hint">New:</span>
      {TEMPLATES.map(({ id, wish }) => (
        <Link key={id} href={`/policies/new?template=${id}`}>
          {wish}
        </Link>
      ))}
    </nav>
  )
}
