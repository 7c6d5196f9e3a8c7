// SPDX-License-Identifier: Apache-2.0
// Of a Pod, what the control plane ever looks at. All Pods of a cluster are kept, most of what they say is for who runs them,
// and it may be large: variables, volumes, probes, the document as it was last applied.

import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { type Foreign, objectOf } from "./foreign.js"

/** kubectl's copy of the whole document. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

export function keptPod(pod: KubernetesObject): KubernetesObject {
  const { annotations, ...metadata } = pod.metadata
  const kept = Object.entries(annotations ?? {}).filter(([name]) => name !== LAST_APPLIED)
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: { ...metadata, ...(annotations && { annotations: Object.fromEntries(kept) }) },
    spec: keptSpec(objectOf(pod.spec)),
    status: keptStatus(objectOf(pod.status)),
  }
}

function keptSpec({ serviceAccountName, hostNetwork, containers, initContainers }: Foreign): Foreign {
  return defined({
    serviceAccountName,
    hostNetwork,
    containers: Array.isArray(containers) ? containers.map(keptContainer) : undefined,
    initContainers: Array.isArray(initContainers) ? initContainers.map(keptContainer) : undefined,
  })
}

function keptContainer(container: unknown): Foreign {
  const { name, image, ports, restartPolicy } = objectOf(container)
  return defined({ name, image, ports, restartPolicy })
}

function keptStatus({ phase, conditions, podIP, podIPs, startTime }: Foreign): Foreign {
  return defined({ phase, conditions, podIP, podIPs, startTime })
}

function defined(fields: Foreign): Foreign {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
