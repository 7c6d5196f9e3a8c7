// SPDX-License-Identifier: Apache-2.0
// What a change of policies would change, proved: which requests become allowed (amber, it widens) or denied (blue, it
// narrows), each with an example, and how many recorded calls are among them.

import { type ReactNode, useMemo } from "react"
import type { PolicyDiff } from "../../api/answers.js"
import type { Policy } from "../../api/objects.js"
import { useAsked } from "../../api/queries.js"
import { useLater } from "../../ui/later.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { callerName } from "../../ui/names.js"
import { count } from "../../ui/time.js"
import { witnessText } from "../../ui/witness.js"

const PAUSE_MS = 500
const WORDS: Readonly<Record<string, string>> = {
  allow: "newly allowed",
  refuse: "newly denied (403)",
  unauthenticated: "newly denied (401)",
  transport: "connection newly rejected",
}

export function DiffView({ policies }: { readonly policies: readonly Policy[] }): ReactNode {
  const text = useLater(JSON.stringify(policies), PAUSE_MS)
  const spec = useMemo(() => ({ documents: JSON.parse(text) }), [text])
  const diff = useAsked<PolicyDiff>("diffs", spec)
  return (
    <div className="diff" aria-live="polite">
      <Loaded query={diff}>{answer => <Answer diff={answer} />}</Loaded>
    </div>
  )
}

/** Whether the changes it lists are all there are. */
export function isDecided({ result, groups }: PolicyDiff): boolean {
  return result !== "undecided" && groups.every(({ undecided }) => undecided === undefined)
}

function Answer({ diff }: { readonly diff: PolicyDiff }): ReactNode {
  const { result, groups, touched } = diff
  if (result === "equal") return <p>No request would be decided differently (proved).</p>
  return (
    <>
      {groups.map(({ workloads, changes, undecided }) => (
        <div key={workloads.join()}>
          <h3>{workloads.join(", ")}</h3>
          <ul className="plain">
            {changes.map(({ to, region, witness }) => (
              <li key={`${to} ${region}`}>
                <Badge tone={to === "allow" ? "warn" : "info"}>{WORDS[to] ?? to}</Badge>
                <p>{region}</p>
                <p className="hint">for example {witnessText(witness)}</p>
              </li>
            ))}
          </ul>
          {undecided !== undefined && <p className="warning">Not everything could be decided: {undecided}</p>}
        </div>
      ))}
      {result === "undecided" && groups.length === 0 && (
        <p className="warning">Not decided: no workload was compared.</p>
      )}
      {isDecided(diff) && <p className="hint">Nothing else changes (proved).</p>}
      {touched !== undefined && <Touched of={touched} />}
    </>
  )
}

function Touched({
  of: { calls, shapes, untried = 0 },
}: {
  readonly of: NonNullable<PolicyDiff["touched"]>
}): ReactNode {
  const rest = untried > 0 && <p className="warning">{count(untried)} kinds of recorded calls were not checked.</p>
  if (calls === 0) return rest || <p className="hint">No recorded call is affected.</p>
  return (
    <section aria-label="Recorded calls">
      <h3>{count(calls)} recorded calls are affected</h3>
      {rest}
      <ul className="plain">
        {shapes.map(({ caller, workload, method, path, count: times, to }) => (
          <li key={`${caller} ${workload} ${method} ${path}`}>
            <Mark tone={to === "allow" ? "warn" : "info"}>
              {to === "allow" ? "would be allowed" : "would be denied"}
            </Mark>
            : {count(times)} × {method} {path} from {callerName(caller)} to {workload}
          </li>
        ))}
      </ul>
    </section>
  )
}
