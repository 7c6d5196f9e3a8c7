// SPDX-License-Identifier: Apache-2.0
// Why a request is allowed or denied: every stage, and the smallest change that would allow it.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Explanation } from "../api/answers.js"
import { Mark, type Tone, Verdict } from "./mark.js"
import { Worded } from "./worded.js"

const TONES: Readonly<Record<string, Tone>> = { passed: "good", denied: "bad", "not reached": "quiet" }

export function ExplanationView({ of }: { readonly of: Explanation }): ReactNode {
  const { verdict, status, body, stages, shadow, change } = of
  return (
    <div className="explanation">
      <p>
        <Verdict of={verdict} />
        {verdict === "deny" &&
          (status === undefined ? " without a response" : ` with ${status}${body ? `: ${body}` : ""}`)}
      </p>
      <ol className="stages" aria-label="Stages">
        {stages.map(({ stage, outcome, why }) => (
          <li key={stage}>
            <Mark tone={TONES[outcome] ?? "quiet"}>{stage}</Mark>{" "}
            <span>{outcome === "not reached" ? "not reached" : <Worded text={why} />}</span>
          </li>
        ))}
      </ol>
      {shadow !== undefined && (
        <p>With shadow policies enforced, it would be {shadow === "allow" ? "allowed" : "denied"}.</p>
      )}
      {change !== undefined && change.length > 0 && (
        <>
          <h3>Smallest change that would allow it</h3>
          <ul className="plain">
            {change.map(({ at, change: what, value, policy }) => (
              <li key={`${policy} ${at} ${value}`}>
                {what} <code>{value}</code> {what === "add" ? "to" : "from"} <code>{at}</code> of{" "}
                <Link href={`/policies/AuthorizationPolicy/${policy}`}>{policy}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
