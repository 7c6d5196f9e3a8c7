// SPDX-License-Identifier: Apache-2.0
// The pages, in the order in which people need them.

import type { ComponentType } from "react"
import { Decisions } from "./decisions/decisions.js"
import { Graph } from "./graph/graph.js"
import { Matrix } from "./matrix/matrix.js"
import { Overview } from "./overview/overview.js"
import { Plaintext } from "./plaintext/plaintext.js"
import { Policies } from "./policies/policies.js"
import { TryIt } from "./try/try.js"
import { Workloads } from "./workloads/workloads.js"

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly Page: ComponentType
}

export const PAGES: readonly PageEntry[] = [
  { path: "/", title: "Overview", Page: Overview },
  { path: "/decisions", title: "Decisions", Page: Decisions },
  { path: "/workloads", title: "Workloads", Page: Workloads },
  { path: "/policies", title: "Policies", Page: Policies },
  { path: "/access", title: "Who may call whom", Page: Matrix },
  { path: "/plaintext", title: "Plaintext", Page: Plaintext },
  { path: "/graph", title: "Graph", Page: Graph },
  { path: "/try", title: "Try it", Page: TryIt },
]
