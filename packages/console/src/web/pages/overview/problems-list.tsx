// SPDX-License-Identifier: Apache-2.0
// The problems, or that there are none as far as anybody knows.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { Mark } from "../../ui/mark.js"
import { count } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import type { Problem } from "./problems.js"

interface ProblemsProps {
  readonly problems: readonly Problem[]
  readonly loading: boolean
  /** Whether everything could be asked. */
  readonly known: boolean
}

const MOST = 50
const NONE = "None: every policy is accepted and enforced, every workload is ready."
const UNKNOWN = "Not everything could be asked, so there may be some."

export function Problems({ problems, loading, known }: ProblemsProps): ReactNode {
  return (
    <section aria-labelledby="problems" className="problems">
      <h2 id="problems">{problems.length === 0 ? "Problems" : `Problems (${count(problems.length)})`}</h2>
      {problems.length === 0 && (
        <p role="status">{known && !loading ? <Mark tone="good">{NONE}</Mark> : known ? "Looking…" : UNKNOWN}</p>
      )}
      <ul>
        {problems.slice(0, MOST).map(({ id, severity, what, reason, message, advice, href }) => (
          <li key={id} className={severity}>
            <Mark tone={severity}>{reason}</Mark> <Link href={href}>{what}</Link>
            <p>
              <Worded text={message} />
            </p>
            <p className="hint">{advice}</p>
          </li>
        ))}
      </ul>
      {problems.length > MOST && <p>and {count(problems.length - MOST)} more; these hurt most.</p>}
    </section>
  )
}
