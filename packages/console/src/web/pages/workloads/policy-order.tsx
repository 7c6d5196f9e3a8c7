// SPDX-License-Identifier: Apache-2.0
// Which policies are in force for a workload, in the order in which a request meets them. The control plane says which: it
// decides that for proxies too.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { keyOf, type Pod } from "../../api/objects.js"
import { useAllPolicies, useAnswer } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { PolicyState } from "../policies/policy-list.js"

const STAGES = ["transport", "token", "audit", "deny", "allow"] as const

export function PolicyOrder({ pod }: { readonly pod: Pod }): ReactNode {
  const { namespace = "", name } = pod.metadata
  const report = useAnswer<WorkloadReport>("workloads", namespace, name)
  return (
    <section aria-labelledby="order">
      <h2 id="order">Policies, in the order a request meets them</h2>
      <Loaded query={report}>
        {({ spec: { policies } }) => (
          <ol className="plain">
            {STAGES.map(stage => (
              <li key={stage}>
                <strong>{stage}</strong> <Listed policies={policies.filter(policy => policy.stage === stage)} />
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </section>
  )
}

function Listed({ policies }: { readonly policies: WorkloadReport["policies"] }): ReactNode {
  const stored = useAllPolicies().flatMap(({ entry, query }) =>
    (query.data ?? []).map(policy => ({ key: `${entry.kind}/${keyOf(policy)}`, policy })),
  )
  if (policies.length === 0) return "none"
  return policies.map(({ kind, policy }) => {
    const known = stored.find(({ key }) => key === `${kind}/${policy}`)
    return (
      <span key={`${kind}/${policy}`} className="listed">
        <Link href={`/policies/${kind}/${policy}`}>{policy}</Link>{" "}
        {known !== undefined && <PolicyState policy={known.policy} />}
      </span>
    )
  })
}
