// SPDX-License-Identifier: Apache-2.0
// What becomes of a policy that is stored no more. Deleted by somebody, it has no effect from then on. Deleted by the
// cluster, because its namespace or its owner goes, it stays in force for the workloads that go the same way until they
// are gone: nobody decided that they serve without it in the meantime. Which of the two it is, the API is asked after the
// deletion; its answer cannot be older, while our own copies can.

import type { KubernetesClient } from "../kubernetes/client.js"
import { type OwnerReference, ownerReferences, ownerType } from "../kubernetes/owner-reference.js"
import { type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { StoredPolicies } from "./stored-policies.js"
import { isSecurityPolicy, type StoredPolicy } from "./stored-policy.js"

export interface DeparturesOptions {
  readonly policies: StoredPolicies
  readonly client: Pick<KubernetesClient, "get">
  readonly directory: MeshDirectory
  readonly rootNamespace: string
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

const FIRST_RETRY = 200
const LAST_RETRY = 10_000

export class Departures {
  readonly #options: DeparturesOptions
  readonly #clock: Clock
  readonly #retries = new Set<() => void>()
  readonly #stop: () => void

  constructor(options: DeparturesOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#stop = options.directory.onChange(({ workloads }) => this.#workloadsChanged(workloads))
  }

  /** The policy is stored no more. */
  deleted(key: string): void {
    const { policies } = this.#options
    const stored = policies.items.get(key)
    if (stored === undefined) return
    const { kind, namespace, name } = stored
    // Whom nobody runs, nobody can open: no need to ask.
    if (this.#selected(stored).length === 0) {
      policies.delete(kind, namespace, name)
      return
    }
    policies.keepDeleted(kind, namespace, name, undefined)
    this.#settle(key, FIRST_RETRY)
  }

  stop(): void {
    this.#stop()
    for (const cancel of this.#retries) cancel()
    this.#retries.clear()
  }

  #settle(key: string, pause: number): void {
    const stored = this.#options.policies.items.get(key)
    // Somebody may have stored another one of its name.
    if (stored?.deleted === undefined) return
    this.#staysFor(stored).then(
      staysFor => this.#settled(key, stored, staysFor),
      (error: unknown) => {
        // Fail closed: as long as nobody says that it was meant, it stays in force.
        this.#options.warn(`why \`${key}\` was deleted cannot be found out yet, so it stays in force: ${String(error)}`)
        const cancel = this.#clock.after(pause, () => {
          this.#retries.delete(cancel)
          this.#settle(key, Math.min(pause * 2, LAST_RETRY))
        })
        this.#retries.add(cancel)
      },
    )
  }

  #settled(key: string, asked: StoredPolicy, staysFor: ReadonlySet<string>): void {
    const { policies } = this.#options
    const { kind, namespace, name } = asked
    if (policies.items.get(key) !== asked) return
    if (staysFor.size === 0) policies.delete(kind, namespace, name)
    else policies.keepDeleted(kind, namespace, name, staysFor)
  }

  async #staysFor(stored: StoredPolicy): Promise<ReadonlySet<string>> {
    const { client } = this.#options
    const namespace = await client.get<KubernetesObject>(NAMESPACES, stored.namespace)
    if (isGoing(namespace)) return uidsOf(this.#selected(stored))
    const gone: OwnerReference[] = []
    for (const owner of ownerReferences(stored.object.metadata)) {
      const type = ownerType(owner)
      if (type === undefined) continue
      const object = await client.get<KubernetesObject>(type, owner.name, stored.namespace)
      if (isGoing(object) || object?.metadata.uid !== owner.uid) gone.push(owner)
    }
    return uidsOf(this.#selected(stored).filter(workload => gone.some(owner => goesWith(workload, owner))))
  }

  /** Gone workloads need no policy any more: their proxies keep what they have, as all whose Pod is gone. */
  #workloadsChanged(keys: ReadonlySet<string>): void {
    const { policies, directory } = this.#options
    const isGone = [...keys].some(key => !directory.workloads.has(key))
    if (!isGone) return
    const lingering = [...policies.items.values()].filter(({ deleted }) => deleted?.staysFor !== undefined)
    if (lingering.length === 0) return
    const living = uidsOf(directory.workloads.values())
    for (const { kind, namespace, name, deleted } of lingering) {
      if (![...(deleted?.staysFor ?? [])].some(uid => living.has(uid))) policies.delete(kind, namespace, name)
    }
  }

  #selected({ namespace, inForce }: StoredPolicy): readonly MeshWorkload[] {
    if (inForce === undefined || !isSecurityPolicy(inForce)) return []
    const scope = namespace === this.#options.rootNamespace ? undefined : namespace
    return [...this.#options.directory.select(inForce.spec.selector?.matchLabels ?? {}, scope)]
  }
}

/** An owner that is going, and what it owns; a Pod that is on its way already goes with whatever else goes. */
function goesWith({ uid, owners, leaving }: MeshWorkload, owner: OwnerReference): boolean {
  return leaving || uid === owner.uid || owners.includes(owner.uid) || owners.includes(`${owner.kind}/${owner.name}`)
}

function isGoing(object: KubernetesObject | undefined): boolean {
  return object === undefined || object.metadata.deletionTimestamp !== undefined
}

function uidsOf(workloads: Iterable<MeshWorkload>): ReadonlySet<string> {
  return new Set([...workloads].map(({ uid }) => uid))
}
