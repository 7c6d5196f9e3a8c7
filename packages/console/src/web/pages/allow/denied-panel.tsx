// SPDX-License-Identifier: Apache-2.0
// A denied call from the overview or the map: why, and the change that allows it.

import { lazy, type ReactNode, Suspense, useMemo, useState } from "react"
import { Link } from "wouter"
import type { Explanation, ObservedCall } from "../../api/answers.js"
import { useAsked } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { ExplanationView } from "../../ui/explanation.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { callerOf, principalOf } from "../../ui/names.js"
import { SidePanel } from "../../ui/side-panel.js"
import { trafficOf } from "./denied-call.js"

const AllowChange = lazy(() => import("./allow-change.js"))

interface DeniedPanelProps {
  readonly call: ObservedCall
  /** Whether it shows the change at once. */
  readonly allowing?: boolean
  readonly close: () => void
}

/** The explanation of a recorded call, with the policies as they are now. */
export function useExplanation({ workload, caller, address, method, path }: ObservedCall) {
  const mayAsk = useMayAsk("explanations")
  const question = useMemo(
    () => ({
      workload,
      request: {
        ...(caller === undefined ? (address === undefined ? {} : { ip: address }) : { from: principalOf(caller) }),
        ...{ method, path: path ?? "/" },
      },
    }),
    [workload, caller, address, method, path],
  )
  return { mayAsk, explained: useAsked<Explanation>("explanations", mayAsk ? question : undefined) }
}

export function DeniedPanel({ call, allowing: allowsAtOnce = false, close }: DeniedPanelProps): ReactNode {
  const { workload, method, path } = call
  const [allowing, setAllowing] = useState(allowsAtOnce)
  const { mayAsk, explained } = useExplanation(call)
  return (
    <SidePanel label="Denied call" title={`${callerOf(call)} to ${workload}`} close={close}>
      <p>
        <code>
          {method} {path}
        </code>{" "}
        <Link href={trafficOf(call)}>Show in Traffic</Link>
      </p>
      <h3>Why (current policies)</h3>
      {mayAsk === false && (
        <p className="hint">
          Explanations need the right to create <code>explanations</code>, which the role <code>edit</code> has.
        </p>
      )}
      {mayAsk === true && (
        <Loaded query={explained}>
          {explanation => (
            <>
              <ExplanationView of={explanation} />
              {(explanation.change ?? []).length > 0 &&
                (allowing ? (
                  <Suspense fallback={<Skeleton />}>
                    <AllowChange change={explanation.change ?? []} />
                  </Suspense>
                ) : (
                  <button type="button" className="primary" onClick={() => setAllowing(true)}>
                    Allow this…
                  </button>
                ))}
              {explanation.verdict === "deny" && (explanation.change ?? []).length === 0 && (
                <p className="hint">No single change of a rule allows it. Add an ALLOW policy for this workload.</p>
              )}
            </>
          )}
        </Loaded>
      )}
    </SidePanel>
  )
}
