// SPDX-License-Identifier: Apache-2.0
// The suggestion with what was proved of it, in the editor: in Shadow, so that applied it changes nothing yet.

import { type ReactNode, useMemo } from "react"
import { stringify } from "yaml"
import type { Suggested } from "../../api/answers.js"
import { useAsked } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark, type Tone } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"
import { PolicyEditor } from "../policies/policy-editor.js"

const PROOFS = [
  ["keeps", "recorded calls stay allowed"],
  ["addsNothing", "nothing is allowed that is not allowed today"],
  ["asSeen", "nothing is allowed that has not the shape of a recorded call"],
] as const
const TONES: Readonly<Record<string, Tone>> = { proved: "good", refuted: "bad", undecided: "warn" }

export default function Suggestion({ workload }: { readonly workload: string }): ReactNode {
  const spec = useMemo(() => ({ workload }), [workload])
  const asked = useAsked<Suggested>("suggestions", spec)
  return <Loaded query={asked}>{answer => <Told of={answer} />}</Loaded>
}

function Told({ of: { policy, evidence, replaces, alsoSelects, proofs } }: { readonly of: Suggested }): ReactNode {
  const text = useMemo(() => stringify(policy), [policy])
  return (
    <>
      <p>
        From {count(evidence.calls)} calls, the last <Ago at={evidence.lastSeen} />. It is in Shadow: applied, it
        changes nothing until <code>enforcement</code> is taken away.
      </p>
      <ul className="plain">
        {PROOFS.map(([proof, words]) => (
          <li key={proof}>
            <Mark tone={TONES[proofs[proof].verdict] ?? "quiet"}>{proofs[proof].verdict}</Mark> {words}
            {proofs[proof].why !== undefined && <p className="hint">{proofs[proof].why}</p>}
          </li>
        ))}
      </ul>
      {replaces.length > 0 && (
        <p className="warning">These let through more, and do so as long as they stay: {replaces.join(", ")}</p>
      )}
      {alsoSelects.length > 0 && <p className="warning">It selects these too: {alsoSelects.join(", ")}</p>}
      <PolicyEditor text={text} />
    </>
  )
}
