// SPDX-License-Identifier: Apache-2.0
// The policies that apply to a workload, in evaluation order.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAllPolicies } from "../../api/queries.js"
import { Card } from "../../ui/card.js"
import { Badge } from "../../ui/mark.js"
import { PolicyState } from "../policies/policy-list.js"

const STAGES = ["transport", "token", "custom", "audit", "deny", "allow"]

export function PolicyOrder({ of: { policies, otherwise } }: { readonly of: WorkloadReport }): ReactNode {
  const kinds = useAllPolicies()
  const stored = (kind: string, name: string) =>
    kinds.find(({ entry }) => entry.kind === kind)?.query.data?.find(policy => keyOf(policy) === name)
  return (
    <Card title="Policies in evaluation order">
      <ol className="stages">
        {STAGES.map(stage => {
          const met = policies.filter(policy => policy.stage === stage)
          // Most workloads have no CUSTOM policy.
          if (met.length === 0 && stage === "custom") return null
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
                      {enforcement === "Shadow" && <Badge tone="quiet">shadow mode</Badge>}{" "}
                      {found !== undefined && <PolicyState policy={found} />}
                    </p>
                  )
                })}
              </div>
            </li>
          )
        })}
      </ol>
      {otherwise.length > 0 && <p className="hint">Some of its Pods have other policies: {otherwise.join(", ")}</p>}
    </Card>
  )
}
