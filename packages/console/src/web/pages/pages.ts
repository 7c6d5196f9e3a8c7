// SPDX-License-Identifier: Apache-2.0
// The pages, in the groups and the order of the sidebar.

import {
  ArrowLeftRight,
  Clock3,
  FileText,
  Grid3x3,
  House,
  Lock,
  type LucideIcon,
  Play,
  Server,
  ShieldCheck,
  TextSearch,
  Waypoints,
} from "lucide-react"
import type { ComponentType } from "react"
import { Certificates } from "./certificates/certificates.js"
import { Changes } from "./changes/changes.js"
import { Decisions } from "./decisions/decisions.js"
import { Graph } from "./graph/graph.js"
import { Invariants } from "./invariants/invariants.js"
import { Matrix } from "./matrix/matrix.js"
import { Overview } from "./overview/overview.js"
import { Plaintext } from "./plaintext/plaintext.js"
import { Policies } from "./policies/policies.js"
import { TryIt } from "./try/try.js"
import { Workloads } from "./workloads/workloads.js"

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly Icon: LucideIcon
  readonly Page: ComponentType
}

export const GROUPS: readonly { readonly title: string; readonly pages: readonly PageEntry[] }[] = [
  {
    title: "",
    pages: [
      { path: "/", title: "Overview", Icon: House, Page: Overview },
      { path: "/map", title: "Map", Icon: Waypoints, Page: Graph },
      { path: "/traffic", title: "Traffic", Icon: TextSearch, Page: Decisions },
      { path: "/access", title: "Access", Icon: Grid3x3, Page: Matrix },
    ],
  },
  {
    title: "Policy",
    pages: [
      { path: "/policies", title: "Policies", Icon: FileText, Page: Policies },
      { path: "/changes", title: "Changes", Icon: ArrowLeftRight, Page: Changes },
      { path: "/invariants", title: "Invariants", Icon: ShieldCheck, Page: Invariants },
      { path: "/playground", title: "Playground", Icon: Play, Page: TryIt },
    ],
  },
  {
    title: "Mesh",
    pages: [
      { path: "/workloads", title: "Workloads", Icon: Server, Page: Workloads },
      { path: "/mtls", title: "mTLS", Icon: Lock, Page: Plaintext },
      { path: "/certificates", title: "Certificates", Icon: Clock3, Page: Certificates },
    ],
  },
]

export const PAGES: readonly PageEntry[] = GROUPS.flatMap(({ pages }) => pages)
