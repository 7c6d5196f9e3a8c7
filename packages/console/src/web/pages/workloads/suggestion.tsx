// SPDX-License-Identifier: Apache-2.0
// The suggested policy and its proofs, in the editor. It is in shadow mode, so applying it changes nothing yet.

import { type ReactNode, useMemo } from "react"
import { stringify } from "yaml"
import type { Suggested } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, type Tone } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"
import { PolicyEditor } from "../policies/policy-editor.js"

const PROOFS = [
  ["keeps", "recorded calls stay allowed"],
  ["addsNothing", "nothing is newly allowed"],
  ["asSeen", "only requests like the recorded calls are allowed"],
] as const
const TONES: Readonly<Record<string, Tone>> = { proved: "good", refuted: "bad", undecided: "warn" }

export default function Suggestion({ workload }: { readonly workload: string }): ReactNode {
  const spec = useMemo(() => ({ workload }), [workload])
  const asked = useQuestion<Suggested>("suggestions", spec)
  return <Loaded query={asked}>{answer => <SuggestedPolicy of={answer} />}</Loaded>
}

function SuggestedPolicy({
  of: { policy, evidence, replaces, alsoSelects, proofs },
}: {
  readonly of: Suggested
}): ReactNode {
  const text = useMemo(() => stringify(policy), [policy])
  return (
    <>
      <p>
        From {count(evidence.calls)} calls, the last <Ago at={evidence.lastSeen} />. It is in shadow mode: it changes
        nothing until you remove <code>enforcement</code>.
      </p>
      <ul className="plain">
        {PROOFS.map(([proof, words]) => (
          <li key={proof}>
            <Badge tone={TONES[proofs[proof].verdict] ?? "quiet"}>{proofs[proof].verdict}</Badge> {words}
            {proofs[proof].why !== undefined && <p className="hint">{proofs[proof].why}</p>}
          </li>
        ))}
      </ul>
      {replaces.length > 0 && (
        <p className="warning">
          These policies allow more, and must be deleted for it to take effect: {replaces.join(", ")}
        </p>
      )}
      {alsoSelects.length > 0 && <p className="warning">It also selects: {alsoSelects.join(", ")}</p>}
      <PolicyEditor text={text} />
    </>
  )
}
