// SPDX-License-Identifier: Apache-2.0
// Workloads: all of them, or everything about one.

import type { ReactNode } from "react"
import { Route, Switch } from "wouter"
import { WorkloadList } from "./workload-list.js"
import { WorkloadPage } from "./workload-page.js"

export function Workloads(): ReactNode {
  return (
    <Switch>
      <Route path="/workloads/:namespace/:name">
        {({ namespace, name }) => <WorkloadPage namespace={namespace} name={name} />}
      </Route>
      <Route>
        <WorkloadList />
      </Route>
    </Switch>
  )
}
