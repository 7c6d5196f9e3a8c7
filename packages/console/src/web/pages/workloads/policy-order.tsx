// SPDX-License-Identifier: Apache-2.0
// Which policies are in force for a workload, in the order in which a request meets them, as the control plane selects them.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAllPolicies } from "../../api/queries.js"
import { Mark } from "../../ui/mark.js"
import { PolicyState } from "../policies/policy-list.js"

const STAGES = ["transport", "token", "audit", "deny", "allow"]

export function PolicyOrder({ of: { policies, otherwise } }: { readonly of: WorkloadReport }): ReactNode {
  const kinds = useAllPolicies()
  const stored = (kind: string, name: string) =>
    kinds.find(({ entry }) => entry.kind === kind)?.query.data?.find(policy => keyOf(policy) === name)
  return (
    <section aria-labelledby="order">
      <h2 id="order">Policies, in the order a request meets them</h2>
      <ol className="stages">
        {STAGES.map(stage => {
          const met = policies.filter(policy => policy.stage === stage)
          return (
            <li key={stage}>
              <strong>{stage}</strong>{" "}
              <div>
                {met.length === 0 && <span className="hint">none</span>}
                {met.map(({ kind, policy, enforcement }) => {
                  const found = stored(kind, policy)
                  return (
                    <p key={`${kind}/${policy}`}>
                      <Link href={`/policies/${kind}/${policy}`}>{policy}</Link>{" "}
                      {enforcement === "Shadow" && <Mark tone="quiet">Shadow</Mark>}{" "}
                      {found !== undefined && <PolicyState policy={found} />}
                    </p>
                  )
                })}
              </div>
            </li>
          )
        })}
      </ol>
      {otherwise.length > 0 && (
        <p className="hint">Other policies are in force for some of its Pods: {otherwise.join(", ")}</p>
      )}
    </section>
  )
}
