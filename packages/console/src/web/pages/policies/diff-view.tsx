// SPDX-License-Identifier: Apache-2.0
// The proved effect of a planned or past policy change: which requests become allowed (amber: widens access) or denied
// (blue: narrows access), each with an example, and how many recorded calls are among them.

import { type ReactNode, useMemo } from "react"
import type { PolicyDiff } from "../../api/answers.js"
import type { Policy } from "../../api/objects.js"
import { useQuestion } from "../../api/queries.js"
import { useLater } from "../../ui/later.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { callerName } from "../../ui/names.js"
import { count } from "../../ui/time.js"
import { witnessText } from "../../ui/witness.js"
import { Worded } from "../../ui/worded.js"
import { isWider } from "./widening.js"

const PAUSE_MS = 500
const WORDS: Readonly<Record<string, string>> = {
  allow: "newly allowed",
  deny: "newly denied (403)",
  unauthenticated: "newly denied (401)",
  transport: "connection newly rejected",
  custom: "now decided by an external authorizer",
}
const PROPOSED = {
  equal: "No request would be decided differently",
  allow: "would be allowed",
  deny: "would be denied",
}
const MADE = { equal: "Every request is decided as before", allow: "is now allowed", deny: "is now denied" }

export function DiffView({ policies }: { readonly policies: readonly Policy[] }): ReactNode {
  const text = useLater(JSON.stringify(policies), PAUSE_MS)
  const spec = useMemo(() => ({ documents: JSON.parse(text) }), [text])
  const diff = useQuestion<PolicyDiff>("diffs", spec)
  return (
    <div className="diff" aria-live="polite">
      <Loaded query={diff}>{answer => <DiffAnswer diff={answer} />}</Loaded>
    </div>
  )
}

/** Whether the diff is complete: every part of it was decided. */
export function isDecided({ result, groups }: PolicyDiff): boolean {
  return result !== "undecided" && groups.every(({ undecided }) => undecided === undefined)
}

/** `made`: the changes are already in effect. */
export function DiffAnswer({ diff, made = false }: { readonly diff: PolicyDiff; readonly made?: boolean }): ReactNode {
  const { result, groups, touched, gaps = [] } = diff
  const words = made ? MADE : PROPOSED
  if (result === "equal") return <p>{words.equal} (proved).</p>
  if (gaps.length > 0) return <Gaps of={gaps} />
  return (
    <>
      {groups.map(({ workloads, changes, undecided }) => (
        <div key={workloads.join()}>
          <h3>{workloads.join(", ")}</h3>
          <ul className="plain">
            {changes.map(({ from, to, region, witness }) => (
              <li key={`${from} ${to} ${region}`}>
                <Badge tone={isWider({ from, to }) ? "warn" : "info"}>{WORDS[to] ?? to}</Badge>
                <p>
                  <Worded text={region} />
                </p>
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
      {touched !== undefined && <Touched of={touched} words={words} />}
    </>
  )
}

function Gaps({ of: gaps }: { readonly of: readonly string[] }): ReactNode {
  return (
    <div className="warning">
      <p>Not decided: the policies of that time are not known. Choose a later start.</p>
      <ul>
        {gaps.map(gap => (
          <li key={gap}>
            <Worded text={gap} />
          </li>
        ))}
      </ul>
    </div>
  )
}

interface TouchedProps {
  readonly of: NonNullable<PolicyDiff["touched"]>
  readonly words: typeof PROPOSED
}

function Touched({ of: { calls, shapes, untried = 0 }, words }: TouchedProps): ReactNode {
  const rest = untried > 0 && <p className="warning">{count(untried)} kinds of recorded calls were not checked.</p>
  if (calls === 0) return rest || <p className="hint">No recorded call is affected.</p>
  return (
    <section aria-label="Recorded calls">
      <h3>{count(calls)} recorded calls are affected</h3>
      {rest}
      <ul className="plain">
        {shapes.map(({ caller, workload, method, path, count: times, to }) => (
          <li key={`${caller} ${workload} ${method} ${path}`}>
            <Mark tone={to === "allow" ? "warn" : "info"}>{to === "allow" ? words.allow : words.deny}</Mark>:{" "}
            {count(times)} × {method} {path} from {callerName(caller)} to {workload}
          </li>
        ))}
      </ul>
    </section>
  )
}
