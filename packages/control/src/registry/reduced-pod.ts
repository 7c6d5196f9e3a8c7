// SPDX-License-Identifier: Apache-2.0
// The part of a Pod that the control plane uses. All Pods of a cluster are kept in memory, and most of a Pod is only
// for the kubelet and may be large: variables, volumes, probes, the last applied document.

import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { type Foreign, listOf, objectOf } from "./foreign.js"

/** kubectl's copy of the whole document. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

export function reducedPod(pod: KubernetesObject): KubernetesObject {
  const { annotations, ...metadata } = pod.metadata
  const kept = Object.entries(annotations ?? {}).filter(([name]) => name !== LAST_APPLIED)
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: { ...metadata, ...(annotations && { annotations: Object.fromEntries(kept) }) },
    spec: reducedSpec(objectOf(pod.spec)),
    status: reducedStatus(objectOf(pod.status)),
  }
}

function reducedSpec(spec: Foreign): Foreign {
  const { serviceAccountName, hostNetwork, securityContext, containers, initContainers, ephemeralContainers } = spec
  return defined({
    serviceAccountName,
    hostNetwork,
    securityContext: reducedRights(securityContext),
    containers: reducedContainers(containers),
    initContainers: reducedContainers(initContainers),
    ephemeralContainers: reducedContainers(ephemeralContainers),
  })
}

function reducedContainers(containers: unknown): readonly Foreign[] | undefined {
  return Array.isArray(containers) ? containers.map(reducedContainer) : undefined
}

function reducedContainer(container: unknown): Foreign {
  const { name, image, ports, restartPolicy, securityContext, args, command } = objectOf(container)
  const rights = reducedRights(securityContext)
  // The arguments of the capture container are parsed; commands of other containers are not.
  const capture = listOf(args)[0] === "capture" ? { args, command: command === undefined ? command : [] } : {}
  return defined({ name, image, ports, restartPolicy, securityContext: rights, ...capture })
}

/** Privileges with which a process could bypass its proxy (`privileges.ts`). */
function reducedRights(securityContext: unknown): Foreign | undefined {
  const { privileged, runAsUser, capabilities } = objectOf(securityContext)
  const { add } = objectOf(capabilities)
  const rights = defined({ privileged, runAsUser, capabilities: add === undefined ? undefined : { add } })
  return Object.keys(rights).length === 0 ? undefined : rights
}

function reducedStatus({ phase, conditions, podIP, podIPs, startTime }: Foreign): Foreign {
  return defined({ phase, conditions, podIP, podIPs, startTime })
}

function defined(fields: Foreign): Foreign {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
