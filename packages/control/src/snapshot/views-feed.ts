// SPDX-License-Identifier: Apache-2.0
// Carries what the reflectors see of the three security kinds into the views, and lets them begin once everything that
// was stored has been read.

import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { SecurityKind } from "./policy-shelf.js"
import type { WorkloadViews } from "./workload-views.js"

export type PolicySources = { readonly [K in SecurityKind]: Reflected<KubernetesObject> }

/** `others`: whatever else must have been read before a view may be trusted, as the registry and the stored key sets. */
export function feedViews(
  views: WorkloadViews,
  sources: PolicySources,
  others: readonly Promise<unknown>[],
): { readonly begun: Promise<void>; stop(): void } {
  const kinds: readonly SecurityKind[] = ["RequestAuthentication", "AuthorizationPolicy", "PeerAuthentication"]
  let stopped = false
  const stops = kinds.map(kind => follow(views, kind, sources[kind]))
  const synced = [...kinds.map(kind => sources[kind].synced), ...others]
  return {
    begun: Promise.all(synced).then(() => {
      if (!stopped) views.begin()
    }),
    stop: () => {
      stopped = true
      for (const stop of stops) stop()
    },
  }
}

function follow(views: WorkloadViews, kind: SecurityKind, reflected: Reflected<KubernetesObject>): () => void {
  const stop = reflected.onChange(({ key, object }) => {
    const [namespace = "", name = ""] = key.split("/")
    if (object !== undefined) views.setPolicy(kind, object)
    else views.deletePolicy(kind, namespace, name)
  })
  for (const object of reflected.items.values()) views.setPolicy(kind, object)
  return stop
}
