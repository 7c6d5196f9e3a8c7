// SPDX-License-Identifier: Apache-2.0
// Handles deleted Services. After a user deletes a Service, it selects no workloads, and a policy that names it has no
// effect. A Service that the cluster deleted with its namespace stays for the policies that name it until its workloads
// are gone too: no user decided that they should run without those policies.

import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { RetryingQuery } from "../observe/retrying-query.js"
import type { Registry } from "../registry/registry.js"
import { isSecurityPolicy, type PolicySource } from "./stored-policy.js"

export interface DeletedServicesOptions {
  readonly policies: Pick<PolicySource, "items">
  readonly registry: Registry
  readonly client: Pick<KubernetesClient, "get">
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

interface Departing {
  readonly namespace: string
  readonly name: string
}

export class DeletedServices {
  readonly #options: DeletedServicesOptions
  readonly #queries: RetryingQuery
  readonly #departing = new Map<string, Departing>()
  readonly #stop: () => void

  constructor(options: DeletedServicesOptions) {
    this.#options = options
    this.#queries = new RetryingQuery(options.clock ?? systemClock)
    this.#stop = options.registry.onChange(({ workloads }) => {
      if (workloads.size > 0) this.#letGo()
    })
  }

  /** Called when a Service of that name is stored again. */
  stored(namespace: string, name: string): void {
    this.#departing.delete(`${namespace}/${name}`)
  }

  /** Called when the Service is no longer stored. */
  deleted(namespace: string, name: string): void {
    const { registry, client, warn } = this.#options
    if (!this.#isNamed(namespace, name) || !this.#isInFront(namespace, name)) {
      registry.deleteService(namespace, name)
      return
    }
    const key = `${namespace}/${name}`
    const departing = { namespace, name }
    this.#departing.set(key, departing)
    this.#queries.ask(
      () => (this.#departing.get(key) === departing ? client.get<KubernetesObject>(NAMESPACES, namespace) : undefined),
      found => {
        const isBeingDeleted = found === undefined || found.metadata.deletionTimestamp !== undefined
        if (!isBeingDeleted && this.#departing.get(key) === departing) this.#forget(departing)
      },
      // Fail closed: policies that name it stay in effect until the deletion is known to be intended.
      error =>
        warn(
          `cannot determine yet why the Service \`${key}\` was deleted, so policies that name it stay enforced: ${String(error)}`,
        ),
    )
  }

  stop(): void {
    this.#stop()
    this.#queries.stop()
  }

  #letGo(): void {
    for (const departing of [...this.#departing.values()]) {
      if (!this.#isInFront(departing.namespace, departing.name)) this.#forget(departing)
    }
  }

  #forget({ namespace, name }: Departing): void {
    this.#departing.delete(`${namespace}/${name}`)
    this.#options.registry.deleteService(namespace, name)
  }

  #isInFront(namespace: string, name: string): boolean {
    for (const { services } of this.#options.registry.select({}, namespace)) if (services.includes(name)) return true
    return false
  }

  #isNamed(namespace: string, name: string): boolean {
    for (const { namespace: place, inForce } of this.#options.policies.items.values()) {
      if (place !== namespace || inForce === undefined || !isSecurityPolicy(inForce)) continue
      if (inForce.spec.targetRefs?.some(target => target.kind === "Service" && target.name === name)) return true
    }
    return false
  }
}
