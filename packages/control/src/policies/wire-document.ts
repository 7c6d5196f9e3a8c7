// SPDX-License-Identifier: Apache-2.0
// A policy as sent to proxies: its name and everything that affects its meaning, without fields that only the API server
// uses. A changed status, label or managed field therefore sends nothing.

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
