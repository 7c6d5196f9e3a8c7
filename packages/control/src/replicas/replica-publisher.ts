// SPDX-License-Identifier: Apache-2.0
// Publishes this replica's address in its own Lease, which is renewed while it runs and deleted at shutdown.

import type { MeshNames } from "@merlon/policy/mesh"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { microTime } from "../kubernetes/lease.js"
import { type Owners, ownedBy } from "../kubernetes/owner-reference.js"
import { type KubernetesObject, LEASES } from "../kubernetes/resource-type.js"
import { pause, SYSTEM_TIME, type Time } from "../kubernetes/time.js"
import { labelOf, replicaNames } from "./replica-names.js"

export interface ReplicaPublisherOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  readonly replica: string
  readonly holder: string
  /** `HOST:PORT`. */
  readonly address: string
  /** Owners of the Lease, so that an abandoned Lease is garbage-collected with them. */
  readonly owners: Owners
  readonly warn: (message: string, error: unknown) => void
  readonly time?: Time
}

const RENEW_MS = 10_000
/** Other replicas consider the Lease valid for this long. */
export const LEASE_MS = 30_000
const RETRY_MS = 1_000
/** How long an API that does not answer may delay the end of the program. */
const STOP_MS = 3_000

export class ReplicaPublisher {
  readonly #options: ReplicaPublisherOptions
  readonly #time: Time
  readonly #end = new AbortController()
  readonly #loop: Promise<void>

  constructor(options: ReplicaPublisherOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    const { client, names, replica, warn } = this.#options
    this.#end.abort()
    const lease = replicaNames(names).lease(replica)
    const taken = this.#loop
      .then(() => client.delete(LEASES, lease, names.rootNamespace))
      .catch((error: unknown) => warn("the lease of this replica could not be deleted; the others wait for it", error))
    const enough = new AbortController()
    await Promise.race([taken, pause(this.#time, STOP_MS, enough.signal)])
    enough.abort()
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      let next = RENEW_MS
      try {
        await this.#renew()
      } catch (error) {
        this.#options.warn("the address of this replica could not be published", error)
        next = RETRY_MS
      }
      await pause(this.#time, next, this.#end.signal)
    }
  }

  async #renew(): Promise<void> {
    const { client, names, replica, holder, address, owners } = this.#options
    const { label, addressAnnotation, lease } = replicaNames(names)
    const namespace = names.rootNamespace
    const spec = {
      holderIdentity: holder,
      leaseDurationSeconds: LEASE_MS / 1_000,
      renewTime: microTime(this.#time.now()),
    }
    const annotations = { [addressAnnotation]: address }
    try {
      await client.patch(LEASES, lease(replica), { metadata: { annotations }, spec }, { namespace, type: "merge" })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error
      const metadata = { name: lease(replica), namespace, labels: { [label]: labelOf(replica) }, annotations }
      const object: KubernetesObject = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { ...metadata, ...ownedBy(await owners()) },
        spec,
      }
      await client.create(LEASES, object)
    }
  }
}
