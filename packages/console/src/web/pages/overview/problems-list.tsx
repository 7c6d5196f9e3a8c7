// SPDX-License-Identifier: Apache-2.0
// The list of problems that need attention, or a note that there are none.

import { ArrowUpRight, CircleAlert, X } from "lucide-react"
import { lazy, type ReactNode, Suspense, useState } from "react"
import { Link } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { Card } from "../../ui/card.js"
import { Skeleton } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Worded } from "../../ui/worded.js"
import { isOneRequest } from "../allow/denied-call.js"
import { DeniedPanel } from "../allow/denied-panel.js"
import type { Problem } from "./problems.js"
// Styles the space that is reserved for previews, which load later.
import "../allow/allow.css"

const AllowPreview = lazy(() => import("../allow/allow-preview.js"))

interface ProblemsProps {
  readonly problems: readonly Problem[]
  readonly loading: boolean
  /** Whether all queries succeeded. */
  readonly known: boolean
}

/** The denied call that the panel explains, and whether the panel also shows the change that allows it. */
interface Opened {
  readonly call: ObservedCall
  readonly allowing?: boolean
}

const MOST = 30
/** How many items show the proved effect of their change in the list. Each costs a proof. */
const PREVIEWS = 2
const ICONS = { bad: X, warn: CircleAlert, info: ArrowUpRight } as const

export function Problems({ problems, loading, known }: ProblemsProps): ReactNode {
  const [opened, open] = useState<Opened>()
  // The problem that loads last may be the first of the list.
  const isWaiting = known && loading
  const previewed = new Set(
    problems
      .filter(({ denied }) => denied !== undefined && isOneRequest(denied))
      .slice(0, PREVIEWS)
      .map(({ id }) => id),
  )
  return (
    <>
      <Card title="Needs attention" note={problems.length > 1 && "sorted by impact"} flush className="problems">
        {isWaiting && <Skeleton />}
        {problems.length === 0 && !isWaiting && (
          <p role="status">
            {known ? (
              <Mark tone="good">
                Every policy is accepted and enforced, every workload is ready, no call is denied.
              </Mark>
            ) : (
              "Some queries failed, so problems may be missing here."
            )}
          </p>
        )}
        <ul className="problem-list">
          {(isWaiting ? [] : problems).slice(0, MOST).map(problem => (
            <ProblemItem key={problem.id} problem={problem} open={open} preview={previewed.has(problem.id)} />
          ))}
        </ul>
        {problems.length > MOST && (
          <div className="padded">
            <More shown={MOST} of={problems.length} hint="choose a namespace" />
          </div>
        )}
      </Card>
      {opened !== undefined && <DeniedPanel {...opened} close={() => open(undefined)} />}
    </>
  )
}

interface ProblemItemProps {
  readonly problem: Problem
  readonly open: (panel: Opened) => void
  readonly preview: boolean
}

function ProblemItem({ problem, open, preview }: ProblemItemProps): ReactNode {
  const { severity, title, badge, message, advice, action, denied } = problem
  const Icon = ICONS[severity]
  return (
    <li className={severity}>
      <span className="sign">
        <Icon className="icon" aria-hidden={true} />
      </span>
      <div>
        <strong>{title}</strong> <Badge tone={severity === "info" ? "quiet" : severity}>{badge}</Badge>
        <p>
          <Worded text={message} />
        </p>
        {advice !== "" && <p className="hint">{advice}</p>}
      </div>
      <div className="actions">
        {denied !== undefined && isOneRequest(denied) ? (
          <>
            <button type="button" onClick={() => open({ call: denied })}>
              Explain
              <span className="visually-hidden">: {title}</span>
            </button>
            <button type="button" className="primary" onClick={() => open({ call: denied, allowing: true })}>
              Allow this…
            </button>
          </>
        ) : (
          <Link className="button" href={action.href}>
            {action.label}
            <span className="visually-hidden">: {title}</span>
          </Link>
        )}
      </div>
      {preview && denied !== undefined && (
        <Suspense fallback={<div className="preview pending" />}>
          <AllowPreview call={denied} />
        </Suspense>
      )}
    </li>
  )
}
