// SPDX-License-Identifier: Apache-2.0
// What is wrong with the policies although each of them is valid: looked for when somebody wants to know, since it takes the
// control plane's time.

import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import type { Analysis, Finding } from "../../api/answers.js"
import { useAsked } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"

const EVERYTHING = {}
const MOST = 30

export function Findings(): ReactNode {
  const mayAsk = useMayAsk("analyses")
  const [wanted, setWanted] = useState(false)
  const analysis = useAsked<Analysis>("analyses", wanted ? EVERYTHING : undefined)
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Findings</h2>
      {mayAsk === false && <p className="hint">To look takes the right to create `analyses`, which you do not have.</p>}
      {mayAsk && !wanted && (
        <p>
          <button type="button" onClick={() => setWanted(true)}>
            Look for dead rules and traps
          </button>
        </p>
      )}
      {wanted && <Loaded query={analysis}>{answer => <Found analysis={answer} />}</Loaded>}
    </section>
  )
}

function Found({ analysis: { complete, findings } }: { readonly analysis: Analysis }): ReactNode {
  if (!complete) return <p>Not looked at to the end; `merlonctl analyze` has no such bound.</p>
  if (findings.length === 0) return <p role="status">None: no rule is dead, none contradicts another.</p>
  return (
    <>
      <ul className="plain">
        {findings.slice(0, MOST).map(finding => (
          <li key={JSON.stringify(finding)}>
            <Told of={finding} />
          </li>
        ))}
      </ul>
      <More shown={MOST} of={findings.length} hint="`merlonctl analyze` lists them all" />
    </>
  )
}

function Told({ of: { code, severity, kind, namespace, name, path, why, fix } }: { readonly of: Finding }): ReactNode {
  return (
    <>
      <Mark tone={severity === "error" ? "bad" : "warn"}>{code}</Mark>{" "}
      <Link href={`/policies/${kind}/${namespace}/${name}`}>
        {kind} {namespace}/{name}
      </Link>{" "}
      {path}
      <p>{why}</p>
      <p className="hint">{fix}</p>
    </>
  )
}
