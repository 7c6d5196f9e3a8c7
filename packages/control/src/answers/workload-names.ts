// SPDX-License-Identifier: Apache-2.0
// Names workloads by their owner, because Pods come and go, and finds the workload that currently has an address.

import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { ownersOf } from "../registry/pod-reading.js"

const RUNNERS = ["Deployment", "StatefulSet", "DaemonSet", "Rollout", "ReplicaSet", "CronJob", "Job"]

/** `namespace/name` of the controller that runs the Pod, or of the Pod itself if it has none. */
export function workloadName({ key, namespace, owners }: Pick<MeshWorkload, "key" | "namespace" | "owners">): string {
  for (const runner of RUNNERS) {
    const owner = owners.find(one => one.startsWith(`${runner}/`))
    if (owner !== undefined) return `${namespace}/${owner.slice(runner.length + 1)}`
  }
  return key
}

/** Name of the controller that runs the Pod; undefined if it has none. */
export function runnerOf(pod: KubernetesObject): string | undefined {
  const { name, namespace = "" } = pod.metadata
  const known = workloadName({ key: `${namespace}/${name}`, namespace, owners: ownersOf(pod) })
  const runner = known.slice(namespace.length + 1)
  return runner === name ? undefined : runner
}

export class WorkloadNames {
  readonly #directory: MeshDirectory
  #byAddress: ReadonlyMap<string, string> | undefined

  constructor(directory: MeshDirectory) {
    this.#directory = directory
    directory.onChange(() => {
      this.#byAddress = undefined
    })
  }

  /** The name for a Pod's `namespace/name`. */
  of(pod: string): string {
    const workload = this.#directory.workloads.get(pod)
    return workload === undefined ? pod : workloadName(workload)
  }

  /** Undefined if no workload of the mesh, or more than one, has the address. */
  at(address: string): string | undefined {
    this.#byAddress ??= this.#addresses()
    return this.#byAddress.get(address) || undefined
  }

  #addresses(): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const workload of this.#directory.workloads.values()) {
      for (const address of workload.addresses) {
        // Pods on the network of their node share an address, so it is unknown which of them called.
        found.set(address, found.has(address) ? "" : workloadName(workload))
      }
    }
    return found
  }
}
