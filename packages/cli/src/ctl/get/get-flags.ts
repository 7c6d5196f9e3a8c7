// SPDX-License-Identifier: Apache-2.0
// The flags of `merlonctl get`.

import type { ClusterFlags, OutputFormat } from "../flags.js"

export interface GetFlags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly selector?: string
  readonly fieldSelector?: string
  readonly headers: boolean
  readonly showLabels: boolean
  readonly showManagedFields: boolean
  readonly ignoreNotFound: boolean
  readonly watch: boolean
  readonly output?: OutputFormat
}
