// SPDX-License-Identifier: Apache-2.0
// Policies: the list, one policy, or a new one.

import { lazy, type ReactNode } from "react"
import { Route, Switch } from "wouter"
import { PolicyList } from "./policy-list.js"

// The editor is the largest part of the page; it is loaded when needed.
const PolicyPage = lazy(() => import("./policy-page.js"))
const NewPolicy = lazy(() => import("./new-policy.js"))

export function Policies(): ReactNode {
  return (
    <Switch>
      <Route path="/policies/new">
        <NewPolicy />
      </Route>
      <Route path="/policies/:kind/:namespace/:name">
        {({ kind, namespace, name }) => <PolicyPage kind={kind} namespace={namespace} name={name} />}
      </Route>
      <Route>
        <PolicyList />
      </Route>
    </Switch>
  )
}
