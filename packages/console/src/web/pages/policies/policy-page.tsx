// SPDX-License-Identifier: Apache-2.0
// One policy: its conditions, and its text to read or change.

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useRef, useState } from "react"
import { useLocation } from "wouter"
import { stringify } from "yaml"
import { api } from "../../api/client.js"
import { kindNamed, pathOf } from "../../api/kinds.js"
import { keyOf, type Policy } from "../../api/objects.js"
import { useMay } from "../../api/rights.js"
import { useSession } from "../../shell/session.js"
import { PageHead } from "../../ui/card.js"
import { DisabledButton } from "../../ui/disabled-button.js"
import { Failure } from "../../ui/failure.js"
import { Loaded } from "../../ui/loaded.js"
import { NotFound } from "../not-found.js"
import { Conditions } from "./conditions.js"
import { Enforcement } from "./enforcement.js"
import { PolicyEditor } from "./policy-editor.js"

interface PolicyPageProps {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export default function PolicyPage({ kind, namespace, name }: PolicyPageProps): ReactNode {
  const { names } = useSession()
  const entry = kindNamed(kind)
  const path = entry && pathOf(names, entry, namespace, name)
  const policy = useQuery({
    queryKey: ["policy", path],
    queryFn: () => api<Policy>(path ?? ""),
    enabled: path !== undefined,
    refetchInterval: 1_000,
  })
  const mayDelete = useMay(entry && { verb: "delete", group: names[entry.group], resource: entry.plural, namespace })
  if (entry === undefined || path === undefined) return <NotFound />
  return (
    <>
      <PageHead title={`${kind} ${namespace}/${name}`} sub={entry.purpose} />
      <Loaded query={policy}>
        {found => (
          <>
            <Enforcement policy={found} />
            <div className="table">
              <Conditions conditions={found.status?.conditions ?? []} />
            </div>
            <PolicyEditor key={keyOf(found)} text={textOf(found)} stored={found} />
            {mayDelete && <Delete path={path} />}
            {mayDelete === false && (
              <DisabledButton label="Delete…">
                You cannot delete this policy. The role <code>admin</code> of {namespace} can.
              </DisabledButton>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

/** The policy as users write it, without the fields that the cluster adds. */
function textOf({ apiVersion, kind, metadata, spec }: Policy): string {
  const { name, namespace, labels, annotations = {} } = metadata
  const own = Object.entries(annotations).filter(([key]) => !key.startsWith("kubectl.kubernetes.io/"))
  const shown = {
    name,
    namespace,
    ...(labels && { labels }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  }
  return stringify({ apiVersion, kind, metadata: shown, spec })
}

function Delete({ path }: { readonly path: string }): ReactNode {
  const [confirming, setConfirming] = useState(false)
  /** Whether a button has replaced the one that had the focus. */
  const isSwitched = useRef(false)
  const focusIfSwitched = (button: HTMLButtonElement | null): void => {
    if (isSwitched.current) button?.focus()
  }
  const ask = (whether: boolean): void => {
    isSwitched.current = true
    setConfirming(whether)
  }
  const [error, setError] = useState<Error>()
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const remove = async (): Promise<void> => {
    try {
      await api(path, { method: "DELETE" })
      await queries.invalidateQueries({ queryKey: ["policies"] })
      navigate("/policies")
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    }
  }
  return (
    <section aria-label="Delete">
      {error !== undefined && <Failure error={error} />}
      {confirming ? (
        <p className="bar middle">
          <span>Deleting it changes what is allowed and denied.</span>
          <button type="button" className="danger" onClick={() => void remove()}>
            Delete it
          </button>
          <button type="button" ref={focusIfSwitched} onClick={() => ask(false)}>
            Keep it
          </button>
        </p>
      ) : (
        <button type="button" ref={focusIfSwitched} onClick={() => ask(true)}>
          Delete…
        </button>
      )}
    </section>
  )
}
