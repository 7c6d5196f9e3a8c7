// SPDX-License-Identifier: Apache-2.0
// Allows a denied request: shows the smallest change as a diff, its proved effect, the verdict of the invariants, and Apply.
// After that it shows how many proxies enforce the change.

import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import { api } from "../../api/client.js"
import { kindNamed, pathOf } from "../../api/kinds.js"
import { keyOf, type Policy } from "../../api/objects.js"
import { useMayAsk, useMayWrite } from "../../api/rights.js"
import { useSession } from "../../shell/session.js"
import { Failure } from "../../ui/failure.js"
import { useFocusHere } from "../../ui/focus-here.js"
import { Skeleton } from "../../ui/loaded.js"
import { DiffView } from "../policies/diff-view.js"
import { useDryRun } from "../policies/dry-run.js"
import { Enforcement } from "../policies/enforcement.js"
import { InvariantVerdict } from "../policies/invariant-verdict.js"
import { save } from "../policies/save.js"
import { asWritten, type Edit, CHANGED_KIND as KIND, withEdits } from "./apply-edits.js"
import { ChangedLines } from "./changed-lines.js"
import "./allow.css"

const SOON_MS = 1_000

export default function AllowChange({ change }: { readonly change: readonly Edit[] }): ReactNode {
  const { names } = useSession()
  const entry = kindNamed(KIND)
  const policies = [...new Set(change.map(({ policy }) => policy))]
  const stored = useQueries({
    queries: policies.map(policy => {
      const [namespace = "", name = ""] = policy.split("/")
      const path = entry === undefined ? "" : pathOf(names, entry, namespace, name)
      return {
        queryKey: ["policy", path, "to change"],
        queryFn: () => api<Policy>(path),
        staleTime: Number.POSITIVE_INFINITY,
      }
    }),
  })
  const failed = stored.find(({ error }) => error !== null)?.error
  if (failed) return <Failure error={failed} />
  const found = stored.flatMap(({ data }) => data ?? [])
  if (found.length < policies.length) return <Skeleton />
  return <Proposals stored={found} change={change} />
}

interface ProposalsProps {
  readonly stored: readonly Policy[]
  readonly change: readonly Edit[]
}

function Proposals({ stored, change }: ProposalsProps): ReactNode {
  const section = useFocusHere<HTMLElement>()
  return (
    <section aria-label="Allow this" tabIndex={-1} ref={section}>
      <h3>{stored.length === 1 ? "Change" : `${stored.length} changes, each applied by itself`}</h3>
      {stored.map(policy => (
        <Proposal key={keyOf(policy)} stored={policy} edits={change.filter(one => one.policy === keyOf(policy))} />
      ))}
    </section>
  )
}

interface ProposalProps {
  readonly stored: Policy
  readonly edits: readonly Edit[]
}

function Proposal({ stored, edits }: ProposalProps): ReactNode {
  const { names } = useSession()
  const queries = useQueryClient()
  const next = withEdits(asWritten(stored), edits)
  const dryRun = useDryRun(next, { ...stored, kind: KIND })
  const mayWrite = useMayWrite(kindNamed(KIND), stored.metadata.namespace)
  const mayAsk = useMayAsk("diffs")
  const [applied, setApplied] = useState<Policy>()
  const [error, setError] = useState<Error>()
  const apply = async (policy: Policy, over: Policy | undefined): Promise<void> => {
    setError(undefined)
    try {
      const { value } = await save(names, policy, over, false)
      setApplied({ ...value, kind: KIND })
      await queries.invalidateQueries({ queryKey: ["policies"] })
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    }
  }
  if (applied !== undefined) return <Applied policy={applied} />
  return (
    <div className="proposal">
      <p>
        <Link href={`/policies/${KIND}/${keyOf(stored)}`}>{keyOf(stored)}</Link>
      </p>
      <ChangedLines from={stored} to={next} />
      <h3>Effect</h3>
      <InvariantVerdict dryRun={dryRun} kind={KIND} />
      {mayAsk === true && <DiffView policies={[next]} />}
      {dryRun.warnings.map(warning => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
      {error !== undefined && <Failure error={error} />}
      {mayWrite === false ? (
        <p className="hint">
          You cannot change policies of {stored.metadata.namespace}. The role <code>admin</code> of it can.
        </p>
      ) : (
        <div className="bar">
          <button
            type="button"
            className="primary"
            disabled={!dryRun.passed || mayWrite !== true}
            onClick={() => void apply(next, { ...stored, kind: KIND })}
          >
            Apply
          </button>
          {stored.spec?.action !== "DENY" && (
            <button
              type="button"
              disabled={!dryRun.passed || mayWrite !== true}
              title="Adds a copy in shadow mode: it is evaluated and reported, but denies and allows nothing"
              onClick={() => void apply(shadowOf(next), undefined)}
            >
              Try in shadow mode
            </button>
          )}
        </div>
      )}
    </div>
  )
}

function Applied({ policy }: { readonly policy: Policy }): ReactNode {
  const { names } = useSession()
  const entry = kindNamed(KIND)
  const path = entry === undefined ? "" : pathOf(names, entry, policy.metadata.namespace, policy.metadata.name)
  const { data = policy } = useQuery({
    queryKey: ["policy", path],
    queryFn: () => api<Policy>(path),
    refetchInterval: SOON_MS,
  })
  const result = useFocusHere<HTMLDivElement>()
  return (
    <div className="proposal" tabIndex={-1} ref={result}>
      <p>
        Applied <Link href={`/policies/${KIND}/${keyOf(policy)}`}>{keyOf(policy)}</Link>
      </p>
      <Enforcement policy={data} />
    </div>
  )
}

/** A copy in shadow mode beside the stored policy: it changes reports, but allows and denies nothing. */
function shadowOf(policy: Policy): Policy {
  const { name, namespace } = policy.metadata
  return {
    ...policy,
    metadata: { name: `${name}-shadow`, ...(namespace && { namespace }) },
    spec: { ...policy.spec, enforcement: "Shadow" },
  }
}
