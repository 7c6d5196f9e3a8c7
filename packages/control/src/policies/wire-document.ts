// SPDX-License-Identifier: Apache-2.0
// A policy as it travels to proxies: what changes its meaning or names it, and nothing that only the API server cares
// for. So a status written, a label or a managed field sends nothing.

import type { MeshNames } from "@merlon/policy/mesh"
import type { SecurityPolicy } from "./stored-policy.js"

export function wireDocument({ apiVersion, kind, metadata, spec }: SecurityPolicy, names: MeshNames): object {
  const { name, namespace, uid, generation, creationTimestamp, annotations } = metadata
  const dryRun = annotations?.[names.dryRunAnnotation]
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(dryRun === undefined ? {} : { annotations: { [names.dryRunAnnotation]: dryRun } }),
    },
    spec,
  }
}
