// SPDX-License-Identifier: Apache-2.0
// Who may call whom: what identities may reach by proof, beside what they were seen to call.

import type { ReactNode } from "react"
import type { SeenCall } from "../../api/answers.js"
import type { Pod } from "../../api/objects.js"
import { useAnswers, usePods } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { Reachable } from "./reachable.js"
import { Table } from "./table.js"
import "./matrix.css"

export function Matrix(): ReactNode {
  const calls = useAnswers<SeenCall>("calls")
  const pods = usePods()
  const accounts = accountsOf(pods.data ?? [])
  return (
    <>
      <h1>Who may call whom</h1>
      <Reachable accounts={accounts} />
      <section aria-labelledby="seen">
        <h2 id="seen">Who did</h2>
        <Loaded query={calls}>
          {({ items }) => <Table calls={items.map(({ spec }) => spec)} accounts={accounts} />}
        </Loaded>
      </section>
    </>
  )
}

/** Identities of those that run. */
function accountsOf(pods: readonly Pod[]): readonly string[] {
  const named = pods.map(
    ({ metadata, spec }) => `cluster.local/ns/${metadata.namespace}/sa/${spec?.serviceAccountName ?? "default"}`,
  )
  return [...new Set(named)].sort()
}
