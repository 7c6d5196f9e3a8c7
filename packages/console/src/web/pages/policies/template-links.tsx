// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react"
import { Link } from "wouter"
import { TEMPLATES } from "./templates.js"

/** New policies by purpose; in a namespace where one is named. */
export function TemplateLinks({ namespace }: { readonly namespace: string }): ReactNode {
  const where = namespace === "" ? "" : `&namespace=${encodeURIComponent(namespace)}`
  return (
    <nav aria-label="New policy" className="chips">
      <span className="hint">New:</span>
      {TEMPLATES.map(({ id, title }) => (
        <Link key={id} href={`/policies/new?template=${id}${where}`}>
          {title}
        </Link>
      ))}
    </nav>
  )
}
