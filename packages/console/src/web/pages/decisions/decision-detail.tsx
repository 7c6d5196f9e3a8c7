// SPDX-License-Identifier: Apache-2.0
// One decision: what was observed, and why, evaluated again with the current policies.

import { type ReactNode, useMemo } from "react"
import { Link } from "wouter"
import type { Answer, Decision, Explanation } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { ExplanationView } from "../../ui/explanation.js"
import { Loaded } from "../../ui/loaded.js"
import { Verdict } from "../../ui/mark.js"
import { ruleParts, stageWords } from "../../ui/names.js"
import { SidePanel } from "../../ui/side-panel.js"
import { Clock } from "../../ui/time.js"
import { AllowThis } from "../allow/allow-this.js"

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
  const explained = useQuestion<Explanation>("explanations", mayAsk ? question : undefined)
  const rule = ruleParts(spec.rule)
  return (
    <SidePanel label="Decision" title={`${spec.method} ${spec.path}`} close={close}>
      <dl className="facts">
        <dt>Verdict</dt>
        <dd>
          <Verdict of={spec.verdict} /> {spec.status > 0 && `with ${spec.status}`}
        </dd>
        <dt>Time</dt>
        <dd>
          <Clock at={spec.time} />
        </dd>
        <dt>Caller</dt>
        <dd>{spec.peer ?? `${spec.source}, in plaintext`}</dd>
        <dt>Workload</dt>
        <dd>
          <Link href={`/workloads/${spec.workload}`}>{spec.workload}</Link>, port {spec.port}
        </dd>
        <dt>Decided by</dt>
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
            <dt>Decision id</dt>
            <dd>
              <code>{spec.id}</code>
            </dd>
          </>
        )}
      </dl>
      <h3>Why (current policies)</h3>
      {mayAsk === true && (
        <Loaded query={explained}>
          {explanation => (
            <>
              <ExplanationView of={explanation} />
              <AllowThis change={explanation.change ?? []} />
            </>
          )}
        </Loaded>
      )}
      {mayAsk === false && (
        <p className="hint">
          Explanations need the right to create <code>explanations</code>, which the role <code>edit</code> has.
        </p>
      )}
    </SidePanel>
  )
}
