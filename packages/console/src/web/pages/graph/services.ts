// SPDX-License-Identifier: Apache-2.0
// Maps Pods, workloads and identities to services: users think of them as one thing. A service has the name of its service
// account; Pods that share the account `default` are distinguished by their `app` label.

import type { ObservedCall } from "../../api/answers.js"
import { keyOf, type Pod } from "../../api/objects.js"
import { callerName } from "../../ui/names.js"

/** A caller without an identity and without a known Pod. */
export const OUTSIDE = "outside the mesh"
const SHARED_ACCOUNT = "default"

export function serviceOf(pod: Pod | undefined): string | undefined {
  if (pod === undefined) return undefined
  const { namespace = "", name, labels = {} } = pod.metadata
  const account = pod.spec?.serviceAccountName ?? SHARED_ACCOUNT
  const own = account === SHARED_ACCOUNT ? (labels["app.kubernetes.io/name"] ?? labels.app ?? stem(name)) : account
  return `${namespace}/${own}`
}

export class Services {
  /** Services by the names of their Pods and of the Pods' possible owners. */
  readonly #byWorkload = new Map<string, string>()
  readonly #byShared = new Map<string, Set<string>>()
  readonly #pods = new Map<string, Pod[]>()

  constructor(pods: readonly Pod[]) {
    for (const pod of pods) {
      const service = serviceOf(pod) ?? ""
      this.#pods.set(service, [...(this.#pods.get(service) ?? []), pod])
      this.#byWorkload.set(keyOf(pod), service)
      const { namespace = "" } = pod.metadata
      if ((pod.spec?.serviceAccountName ?? SHARED_ACCOUNT) !== SHARED_ACCOUNT) continue
      this.#byShared.set(namespace, (this.#byShared.get(namespace) ?? new Set<string>()).add(service))
    }
    for (const pod of pods) {
      // A Deployment's Pods are named `NAME-HASH-ID`. An exact name has priority over a name guessed from that.
      for (const name of [stem(keyOf(pod)), stem(stem(keyOf(pod)))]) {
        if (!this.#byWorkload.has(name)) this.#byWorkload.set(name, serviceOf(pod) ?? "")
      }
    }
  }

  podsOf(service: string): readonly Pod[] {
    return this.#pods.get(service) ?? []
  }

  /** The service of a workload; the workload itself if none of its Pods is known any more. */
  ofWorkload(workload: string): string {
    return this.#byWorkload.get(workload) ?? workload
  }

  ofCaller({ caller, from }: Pick<ObservedCall, "caller" | "from">): string {
    if (caller === undefined) return from === undefined ? OUTSIDE : this.ofWorkload(from)
    const name = callerName(caller)
    const [namespace = "", account] = name.split("/")
    const sharing = account === SHARED_ACCOUNT ? [...(this.#byShared.get(namespace) ?? [])] : []
    return sharing.length === 1 ? (sharing[0] ?? name) : name
  }
}

function stem(name: string): string {
  return name.replace(/-[^-/]+$/, "")
}
