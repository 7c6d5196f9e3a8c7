// SPDX-License-Identifier: Apache-2.0
// A state as text with an icon and a colour, so that colour is never the only difference. `Badge` shows the same as a pill.

import { Check, ChevronsDownUp, CircleDot, TriangleAlert, X } from "lucide-react"
import type { ComponentType, ReactNode } from "react"
import "./mark.css"

/** `good`: allowed; `bad`: denied; `warn`: widens access, or plaintext; `info`: narrows access. */
export type Tone = "good" | "bad" | "warn" | "info" | "quiet"

interface MarkProps {
  readonly tone: Tone
  readonly children: ReactNode
}

const SIGNS: Readonly<Record<Tone, ComponentType<{ readonly "aria-hidden": true }>>> = {
  good: Check,
  bad: X,
  warn: TriangleAlert,
  info: ChevronsDownUp,
  quiet: CircleDot,
}

export function Mark({ tone, children }: MarkProps): ReactNode {
  const Sign = SIGNS[tone]
  return (
    <span className={`mark ${tone}`}>
      <Sign aria-hidden={true} />
      {children}
    </span>
  )
}

export function Badge({ tone, children }: MarkProps): ReactNode {
  const Sign = SIGNS[tone]
  return (
    <span className={`badge ${tone}`}>
      {tone !== "quiet" && <Sign aria-hidden={true} />}
      {children}
    </span>
  )
}

export function Verdict({ of }: { readonly of: "allow" | "deny" }): ReactNode {
  return of === "allow" ? <Badge tone="good">allowed</Badge> : <Badge tone="bad">denied</Badge>
}
