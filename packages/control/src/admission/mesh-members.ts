// SPDX-License-Identifier: Apache-2.0
// Members of the mesh: workloads with a proxy, and workloads that requested one. A mesh-wide policy also selects the
// control plane's own Pods and those of namespaces that never opted in; whether it is `Ready` does not depend on them.

import type { MeshNames } from "@merlon/policy/mesh"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { isOptedIn } from "./capture-choice.js"
import { optIn } from "./opt-in.js"

export interface MeshMembers {
  isMember(workload: Pick<MeshWorkload, "namespace" | "labels" | "proxied">): boolean
  /** Called with the name of a namespace that has opted in or out. */
  onChange(listener: (namespace: string) => void): () => void
}

export function meshMembers(namespaces: Reflected<KubernetesObject>, names: MeshNames): MeshMembers {
  const optedIn = (namespace: KubernetesObject | undefined): boolean => isOptedIn(namespace?.metadata.labels, names)
  return {
    isMember: ({ namespace, labels, proxied }) => {
      const known = namespaces.items.get(namespace)
      // Fail closed: a namespace that is not known yet may have opted in.
      return proxied || optIn(labels, namespace, known === undefined || optedIn(known), names).inject
    },
    onChange: listener =>
      namespaces.onChange(({ key, object, previous }) => {
        if (optedIn(object) !== optedIn(previous) || (object === undefined) !== (previous === undefined)) listener(key)
      }),
  }
}
