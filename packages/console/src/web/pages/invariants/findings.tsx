// SPDX-License-Identifier: Apache-2.0
// Findings of the analysis in valid policies: dead rules, contradicting rules, and common mistakes.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Analysis, Finding } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card } from "../../ui/card.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Worded } from "../../ui/worded.js"

const EVERYTHING = {}
const MOST = 30

export function Findings(): ReactNode {
  const namespace = useNamespace()
  const mayAsk = useMayAsk("analyses")
  const analysis = useQuestion<Analysis>("analyses", mayAsk ? EVERYTHING : undefined)
  return (
    <Card title="Findings" note="dead rules, contradictions, traps">
      {mayAsk === false && (
        <p className="hint">
          The analysis needs the right to create <code>analyses</code>, which the role <code>edit</code> has.
        </p>
      )}
      {mayAsk === true && (
        <Loaded query={analysis}>
          {({ complete, findings }) => (
            <Found
              complete={complete}
              findings={findings.filter(finding => isIn(namespace, `${finding.namespace}/${finding.name}`))}
            />
          )}
        </Loaded>
      )}
    </Card>
  )
}

function Found({ complete, findings }: Analysis): ReactNode {
  return (
    <>
      {!complete && (
        <p className="warning">
          The analysis ran out of time. <code>merlonctl analyze</code> runs it without a limit.
        </p>
      )}
      {complete && findings.length === 0 && (
        <p role="status">
          <Mark tone="good">No dead rule, no contradiction.</Mark>
        </p>
      )}
      <ul className="plain">
        {findings.slice(0, MOST).map(finding => (
          <li key={JSON.stringify(finding)}>
            <FindingText of={finding} />
          </li>
        ))}
      </ul>
      <More shown={MOST} of={findings.length} hint="`merlonctl analyze` lists all of them" />
    </>
  )
}

function FindingText({
  of: { code, severity, kind, namespace, name, path, why, fix },
}: {
  readonly of: Finding
}): ReactNode {
  return (
    <>
      <Badge tone={severity === "error" ? "bad" : "warn"}>{code}</Badge>{" "}
      <Link href={`/policies/${kind}/${namespace}/${name}`}>
        {kind} {namespace}/{name}
      </Link>{" "}
      <span className="mono">{path}</span>
      <p>
        <Worded text={why} />
      </p>
      <p className="hint">
        <Worded text={fix} />
      </p>
    </>
  )
}
