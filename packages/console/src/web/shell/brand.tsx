// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react"

/** The product's logo and name, and the name of the mesh below it. */
export function Brand({ mesh }: { readonly mesh?: string | undefined }): ReactNode {
  return (
    <div className="brand">
      <svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true">
        <rect width="28" height="28" rx="8" fill="var(--accent)" />
        <path d="M6 20V10h4v3h2.5v-3h3v3H18v-3h4v10z" fill="var(--on-accent)" />
      </svg>
      <div>
        Merlon
        {mesh !== undefined && <small>{mesh}</small>}
      </div>
    </div>
  )
}
