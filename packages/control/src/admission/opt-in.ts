// SPDX-License-Identifier: Apache-2.0
// Decides whether injection is requested: by the Pod's own label, else by its namespace's.

import type { MeshNames } from "@merlon/policy/mesh"
import { objectOf } from "../registry/foreign.js"

export interface OptIn {
  readonly inject: boolean
  /** The reason, in one sentence for users. */
  readonly because: string
  readonly warnings: readonly string[]
}

export function optIn(labels: unknown, namespace: string, namespaceOptedIn: boolean, names: MeshNames): OptIn {
  const { injectLabel, injectionLabel, rootNamespace } = names
  if (namespace === "kube-system" || namespace === rootNamespace) {
    return { inject: false, because: `nothing is injected in the namespace \`${namespace}\``, warnings: [] }
  }
  const own = objectOf(labels)[injectLabel]
  if (own === "true" || own === "false") {
    return { inject: own === "true", because: `the label \`${injectLabel}\` is \`${own}\``, warnings: [] }
  }
  const warnings =
    own === undefined ? [] : [`the label \`${injectLabel}\` is ignored: it must be \`"true"\` or \`"false"\``]
  const because = namespaceOptedIn
    ? `the namespace \`${namespace}\` has the label \`${injectionLabel}=enabled\``
    : `the namespace \`${namespace}\` lacks the label \`${injectionLabel}=enabled\``
  return { inject: namespaceOptedIn, because, warnings }
}
