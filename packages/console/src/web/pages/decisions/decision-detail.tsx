// SPDX-License-Identifier: Apache-2.0
// One decision: what was seen, and why it was decided so, tried again on the policies that are in force now.

import { type ReactNode, useMemo } from "react"
import { Link } from "wouter"
import type { Answer, Decision, Explanation } from "../../api/answers.js"
import { useAsked } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { ExplanationView } from "../../ui/explanation.js"
import { Loaded } from "../../ui/loaded.js"
import { Verdict } from "../../ui/mark.js"
import { ruleParts, stageWords } from "../../ui/names.js"
import { Clock } from "../../ui/time.js"

interface DecisionDetailProps {
  readonly decision: Answer<Decision>
  readonly close: () => void
}

export function DecisionDetail({ decision: { spec }, close }: DecisionDetailProps): ReactNode {
  const mayAsk = useMayAsk("explanations")
  const question = useMemo(
    () => ({
      workload: spec.workload,
      request: {
        ...(spec.peer && { from: spec.peer.replace(/^spiffe:\/\//, "") }),
        ...(spec.source && { ip: spec.source.replace(/:\d+$/, "") }),
        method: spec.method,
        path: spec.path,
      },
    }),
    [spec],
  )
  const explained = useAsked<Explanation>("explanations", mayAsk ? question : undefined)
  const rule = ruleParts(spec.rule)
  return (
    <section aria-label="Decision" className="detail">
      <button type="button" onClick={close}>
        Close
      </button>
      <h2>
        {spec.method} {spec.path}
      </h2>
      <dl className="facts">
        <dt>Verdict</dt>
        <dd>
          <Verdict of={spec.verdict} /> {spec.status > 0 && `with ${spec.status}`}
        </dd>
        <dt>When</dt>
        <dd>
          <Clock at={spec.time} />
        </dd>
        <dt>Caller</dt>
        <dd>{spec.peer ?? `${spec.source}, in plaintext`}</dd>
        <dt>Workload</dt>
        <dd>
          <Link href={`/workloads/${spec.workload}`}>{spec.workload}</Link>, port {spec.port}
        </dd>
        <dt>Settled by</dt>
        <dd>
          {rule === undefined ? (
            (spec.reason ?? stageWords(spec.stage))
          ) : (
            <>
              rule {rule.at} of <Link href={`/policies/AuthorizationPolicy/${rule.policy}`}>{rule.policy}</Link>
            </>
          )}
        </dd>
        {spec.id !== undefined && (
          <>
            <dt>Id</dt>
            <dd>
              <code>{spec.id}</code>
            </dd>
          </>
        )}
      </dl>
      <h3>Why, with the policies of now</h3>
      {mayAsk === true && <Loaded query={explained}>{explanation => <ExplanationView of={explanation} />}</Loaded>}
      {mayAsk === false && (
        <p className="hint">Trying requests takes the right to create `explanations`, which you do not have.</p>
      )}
    </section>
  )
}
