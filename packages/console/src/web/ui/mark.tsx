// SPDX-License-Identifier: Apache-2.0
// A word with its colour and sign: nobody has to tell colours apart.

import type { ReactNode } from "react"
import "./mark.css"

export type Tone = "good" | "bad" | "warn" | "quiet"

const SIGNS: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", warn: "!", quiet: "·" }

export function Mark({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return (
    <span className={`mark ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {children}
    </span>
  )
}

export function Verdict({ of }: { readonly of: "allow" | "deny" | "refuse" }): ReactNode {
  return of === "allow" ? <Mark tone="good">allowed</Mark> : <Mark tone="bad">refused</Mark>
}
