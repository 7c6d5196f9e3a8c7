// SPDX-License-Identifier: Apache-2.0
// Who may call whom: what identities may reach by proof, beside what they were seen to call.

import type { ReactNode } from "react"
import type { Answer, ObservedCall, WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAnswers } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { principalOf } from "../../ui/names.js"
import { Reachable } from "./reachable.js"
import { Table } from "./table.js"
import "./matrix.css"

export function Matrix(): ReactNode {
  const calls = useAnswers<ObservedCall>("calls")
  const workloads = useAnswers<WorkloadReport>("workloads")
  const accounts = accountsOf(workloads.data?.items ?? [])
  const running = (workloads.data?.items ?? []).map(keyOf)
  return (
    <>
      <h1>Who may call whom</h1>
      <section aria-labelledby="seen">
        <h2 id="seen">Callers by workloads</h2>
        <Loaded query={calls}>
          {({ items }) => <Table calls={items.map(({ spec }) => spec)} accounts={accounts} running={running} />}
        </Loaded>
      </section>
      <Reachable accounts={accounts} />
    </>
  )
}

/** Identities of those that run. */
function accountsOf(workloads: readonly Answer<WorkloadReport>[]): readonly string[] {
  return [...new Set(workloads.map(({ spec }) => principalOf(spec.identity)))].sort()
}
