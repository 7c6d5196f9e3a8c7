// SPDX-License-Identifier: Apache-2.0
// The other replicas, from their Leases. Every listed replica is queried, whatever times its Lease contains: clocks may
// be wrong, and replicas that do not answer are named. The leader deletes Leases that are no longer renewed.

import type { MeshNames } from "@merlon/policy/mesh"
import { Emitter } from "@merlon/xds/runtime"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { SYSTEM_TIME, type Time } from "../kubernetes/time.js"
import { labelsOf, objectOf, textOf } from "../registry/foreign.js"
import { replicaNames } from "./replica-names.js"
import { LEASE_MS } from "./replica-publisher.js"

export interface KnownReplica {
  readonly name: string
  readonly host: string
  readonly port: number
}

export interface KnownReplicasOptions {
  /** Leases of the root namespace with the label of replicas. */
  readonly leases: Reflected<KubernetesObject>
  readonly names: MeshNames
  readonly replica: string
  /** Whether the holder of this name is known to have stopped. */
  readonly isOver: (holder: string) => boolean
  readonly time?: Pick<Time, "monotonic">
}

/** Far more than a mesh needs. Limits how many addresses a client that can write Leases can make us call. */
const MOST = 32

export class KnownReplicas {
  readonly #options: KnownReplicasOptions
  readonly #time: Pick<Time, "monotonic">
  /** By our own clock, since when each Lease has been unchanged. */
  readonly #since = new Map<string, number>()
  readonly #changes = new Emitter()
  readonly #unfollow: () => void
  #others: readonly KnownReplica[] = []

  constructor(options: KnownReplicasOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    for (const key of options.leases.items.keys()) this.#since.set(key, this.#time.monotonic())
    this.#unfollow = options.leases.onChange(({ key, object }) => {
      if (object === undefined) this.#since.delete(key)
      else this.#since.set(key, this.#time.monotonic())
      this.#look()
    })
    this.#look()
  }

  get others(): readonly KnownReplica[] {
    return this.#others
  }

  /** Names of Leases that no replica renews any more. The leader deletes them. */
  get abandoned(): readonly string[] {
    const before = this.#time.monotonic() - LEASE_MS
    return [...this.#options.leases.items].flatMap(([key, lease]) => {
      if (lease.metadata.name === this.#own) return []
      const isOld = (this.#since.get(key) ?? Number.POSITIVE_INFINITY) <= before
      return isOld || this.#isOver(lease) ? [lease.metadata.name] : []
    })
  }

  /** Called when other replicas are added, removed or moved. */
  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  stop(): void {
    this.#unfollow()
    this.#changes.clear()
  }

  get #own(): string {
    const { names, replica } = this.#options
    return replicaNames(names).lease(replica)
  }

  #look(): void {
    const others = [...this.#options.leases.items.values()]
      .flatMap(lease => this.#read(lease) ?? [])
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MOST)
    if (JSON.stringify(others) === JSON.stringify(this.#others)) return
    this.#others = others
    this.#changes.emit()
  }

  #read(lease: KubernetesObject): KnownReplica | undefined {
    const { label, addressAnnotation } = replicaNames(this.#options.names)
    const { name, labels, annotations } = lease.metadata
    if (name === this.#own || this.#isOver(lease)) return undefined
    const address = addressOf(labelsOf(annotations)[addressAnnotation])
    return address && { name: labelsOf(labels)[label] ?? name, ...address }
  }

  #isOver({ spec }: KubernetesObject): boolean {
    return this.#options.isOver(textOf(objectOf(spec).holderIdentity) ?? "")
  }
}

/** IPv6 addresses are in brackets. */
function addressOf(text: string | undefined): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9.-]{1,253})):(\d{1,5})$/.exec(text ?? "") ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}
