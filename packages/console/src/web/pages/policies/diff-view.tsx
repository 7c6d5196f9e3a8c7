// SPDX-License-Identifier: Apache-2.0
// What a change of policies would change, proved: which requests become allowed or refused where, each with one that shows
// it, and how many calls that were seen are among them.

import { type ReactNode, useMemo } from "react"
import type { PolicyDiff } from "../../api/answers.js"
import type { Policy } from "../../api/objects.js"
import { useAsked } from "../../api/queries.js"
import { useLater } from "../../ui/later.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { callerName } from "../../ui/names.js"
import { count } from "../../ui/time.js"
import { witnessText } from "../../ui/witness.js"

const PAUSE_MS = 500
const WORDS: Readonly<Record<string, string>> = {
  allow: "newly allowed",
  refuse: "newly refused (403)",
  unauthenticated: "newly refused (401)",
  transport: "closed without a reply from now on",
}

export function DiffView({ policy }: { readonly policy: Policy }): ReactNode {
  const text = useLater(JSON.stringify(policy), PAUSE_MS)
  const spec = useMemo(() => ({ documents: [JSON.parse(text)] }), [text])
  const diff = useAsked<PolicyDiff>("diffs", spec)
  return (
    <div className="diff" aria-live="polite">
      <Loaded query={diff}>{answer => <Answer diff={answer} />}</Loaded>
    </div>
  )
}

function Answer({ diff: { result, groups, touched } }: { readonly diff: PolicyDiff }): ReactNode {
  if (result === "equal") return <p>No request would be decided differently (proved).</p>
  return (
    <>
      {groups.map(({ workloads, changes, undecided }) => (
        <div key={workloads.join()}>
          <h3>{workloads.join(", ")}</h3>
          <ul className="plain">
            {changes.map(({ to, region, witness }) => (
              <li key={`${to} ${region}`}>
                <Mark tone={to === "allow" ? "good" : "bad"}>{WORDS[to] ?? to}</Mark>
                <p>{region}</p>
                <p className="hint">for example {witnessText(witness)}</p>
              </li>
            ))}
          </ul>
          {undecided !== undefined && <p className="warning">Not all of it could be decided: {undecided}</p>}
        </div>
      ))}
      {result === "undecided" && groups.length === 0 && (
        <p className="warning">Not decided: no workload was compared.</p>
      )}
      {result === "different" && <p className="hint">Nothing else changes (proved).</p>}
      {touched !== undefined && <Touched of={touched} />}
    </>
  )
}

/** What can change is proved above; these were seen to happen. */
function Touched({
  of: { calls, shapes, untried = 0 },
}: {
  readonly of: NonNullable<PolicyDiff["touched"]>
}): ReactNode {
  const rest = untried > 0 && <p className="warning">{count(untried)} kinds of recorded calls were not checked.</p>
  if (calls === 0) return rest || <p className="hint">No call that was seen is among them.</p>
  return (
    <section aria-label="Calls that were seen">
      <h3>{count(calls)} calls that were seen are among them</h3>
      {rest}
      <ul className="plain">
        {shapes.map(({ caller, workload, method, path, count: times, to }) => (
          <li key={`${caller} ${workload} ${method} ${path}`}>
            <Mark tone={to === "allow" ? "good" : "bad"}>{to === "allow" ? "allowed" : "refused"} from then on</Mark>{" "}
            {count(times)} × {method} {path} by {callerName(caller)} to {workload}
          </li>
        ))}
      </ul>
    </section>
  )
}
