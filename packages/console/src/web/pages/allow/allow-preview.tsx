// SPDX-License-Identifier: Apache-2.0
// The smallest change that allows a denied call, and its proved effect, in a few lines. It is shown if the change edits a
// single policy; "Allow this…" handles the other cases.

import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useMemo } from "react"
import type { ObservedCall, PolicyDiff } from "../../api/answers.js"
import { api } from "../../api/client.js"
import { kindNamed, pathOf } from "../../api/kinds.js"
import type { Policy } from "../../api/objects.js"
import { useAllPolicies, useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSession } from "../../shell/session.js"
import { Mark } from "../../ui/mark.js"
import { Worded } from "../../ui/worded.js"
import { isDecided } from "../policies/diff-view.js"
import { allHold, useDryRun } from "../policies/dry-run.js"
import { asWritten, CHANGED_KIND, type Edit, withEdits } from "./apply-edits.js"
import { ChangedLines } from "./changed-lines.js"
import { useExplanation } from "./denied-panel.js"

export default function AllowPreview({ call }: { readonly call: ObservedCall }): ReactNode {
  const { mayAsk, explained } = useExplanation(call)
  const { names } = useSession()
  const edits = explained.data?.change ?? []
  const policies = [...new Set(edits.map(({ policy }) => policy))]
  const [policy = ""] = policies
  const entry = kindNamed(CHANGED_KIND)
  const [namespace = "", name = ""] = policy.split("/")
  const path = entry === undefined ? "" : pathOf(names, entry, namespace, name)
  const stored = useQuery({
    queryKey: ["policy", path, "to change"],
    queryFn: () => api<Policy>(path),
    enabled: policies.length === 1,
  })
  if (mayAsk === false || explained.error !== null || stored.error !== null) return null
  if (explained.data !== undefined && policies.length !== 1) return null
  return (
    <div className={`preview proposal ${stored.data === undefined ? "pending" : ""}`}>
      {stored.data === undefined ? (
        <p className="hint effect">Looking for the smallest change…</p>
      ) : (
        <>
          <p className="hint effect">
            <Worded text={explained.data?.stages.find(({ outcome }) => outcome === "denied")?.why} />
          </p>
          <Effect stored={stored.data} edits={edits} policy={policy} />
        </>
      )}
    </div>
  )
}

interface EffectProps {
  readonly stored: Policy
  readonly edits: readonly Edit[]
  readonly policy: string
}

function Effect({ stored, edits, policy }: EffectProps): ReactNode {
  const mayAsk = useMayAsk("diffs")
  const next = useMemo(() => withEdits(asWritten(stored), edits), [stored, edits])
  const question = useMemo(() => ({ documents: [next] }), [next])
  const { data } = useQuestion<PolicyDiff>("diffs", mayAsk === true ? question : undefined)
  const dryRun = useDryRun(next, { ...stored, kind: CHANGED_KIND })
  const invariants = useAllPolicies().find(({ entry }) => entry.kind === "PolicyInvariant")?.query.data?.length ?? 0
  const allowed = data?.groups.flatMap(({ changes }) => changes.filter(({ to }) => to === "allow")) ?? []
  return (
    <>
      <ChangedLines from={stored} to={next} />
      <div className="effect" aria-live="polite">
        {data === undefined && <p className="hint">Proving what `{policy}` would newly allow…</p>}
        {allowed.map(({ region }) => (
          <p key={region}>
            <Mark tone="warn">Would newly allow</Mark> <Worded text={region} />.
          </p>
        ))}
        {data !== undefined && (
          <p className="hint">
            {isDecided(data) ? "Nothing else changes (proved)." : "Whether anything else changes could not be decided."}
            {allHold(dryRun) &&
              invariants > 0 &&
              ` ${invariants === 1 ? "The invariant holds" : `All ${invariants} invariants hold`}.`}
          </p>
        )}
        {dryRun.error !== undefined && (
          <p>
            <Mark tone="bad">Merlon would reject this change:</Mark> <Worded text={dryRun.error.message} />
          </p>
        )}
      </div>
    </>
  )
}
