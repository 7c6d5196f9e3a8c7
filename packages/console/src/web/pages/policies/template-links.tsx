// SPDX-License-Identifier: Apache-2.0
import { type ReactNode, useId } from "react"
import { Link } from "wouter"
import { TEMPLATES } from "./templates.js"

interface TemplateLinksProps {
  /** Where the user may create policies: a namespace, everywhere (""), or nowhere (null). Undefined until it is known. */
  readonly where: string | null | undefined
}

/** Links to the templates for new policies, by purpose. */
export function TemplateLinks({ where }: TemplateLinksProps): ReactNode {
  const reason = useId()
  const isKnown = where !== undefined
  const query = !isKnown || where === null || where === "" ? "" : `&namespace=${encodeURIComponent(where)}`
  return (
    <nav aria-label="New policy" className={isKnown ? "chips" : "chips pending"}>
      <span className="hint">New:</span>
      {TEMPLATES.map(({ id, title }) =>
        where === null ? (
          <button key={id} type="button" disabled={true} aria-describedby={reason}>
            {title}
          </button>
        ) : (
          <Link key={id} href={`/policies/new?template=${id}${query}`}>
            {title}
          </Link>
        ),
      )}
      {where === null && (
        <span className="hint" id={reason}>
          No namespace found where you can create policies. The role <code>admin</code> of a namespace can.
        </span>
      )}
    </nav>
  )
}
