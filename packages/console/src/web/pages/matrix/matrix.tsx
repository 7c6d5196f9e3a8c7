// SPDX-License-Identifier: Apache-2.0
// Access: the workloads that identities can reach, proved, next to the calls that they made.

import type { ReactNode } from "react"
import type { Answer, ObservedCall, WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAnswers } from "../../api/queries.js"
import { Card, PageHead } from "../../ui/card.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
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
      <PageHead title="Access" sub="Who called whom, and who can." />
      <Card title="Callers by workload">
        <Loaded query={calls}>
          {({ items }) =>
            workloads.isPending ? (
              <Skeleton />
            ) : (
              <Table calls={items.map(({ spec }) => spec)} accounts={accounts} running={running} />
            )
          }
        </Loaded>
      </Card>
      {!calls.isPending && !workloads.isPending && <Reachable accounts={accounts} />}
    </>
  )
}

/** Identities of running workloads. */
function accountsOf(workloads: readonly Answer<WorkloadReport>[]): readonly string[] {
  return [...new Set(workloads.map(({ spec }) => principalOf(spec.identity)))].sort()
}
