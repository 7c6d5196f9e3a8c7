// SPDX-License-Identifier: Apache-2.0
// The panel for a denied call of the overview or the map: why it is denied, and the change that allows it.

import { type ReactNode, useMemo } from "react"
import { Link } from "wouter"
import type { Explanation, ObservedCall } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { ExplanationView } from "../../ui/explanation.js"
import { Loaded } from "../../ui/loaded.js"
import { callerOf } from "../../ui/names.js"
import { SidePanel } from "../../ui/side-panel.js"
import { AllowThis } from "./allow-this.js"
import { questionOf, trafficOf } from "./denied-call.js"

interface DeniedPanelProps {
  readonly call: ObservedCall
  /** Whether to show the change immediately. */
  readonly allowing?: boolean
  readonly close: () => void
}

/** The explanation of a recorded call, evaluated with the current policies. */
export function useExplanation(call: ObservedCall) {
  const mayAsk = useMayAsk("explanations")
  const question = useMemo(() => questionOf(call), [call])
  return { mayAsk, explained: useQuestion<Explanation>("explanations", mayAsk ? question : undefined) }
}

export function DeniedPanel({ call, allowing = false, close }: DeniedPanelProps): ReactNode {
  const { workload, method, path } = call
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
              <AllowThis change={explanation.change ?? []} atOnce={allowing} />
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
