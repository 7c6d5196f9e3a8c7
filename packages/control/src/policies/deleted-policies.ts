// SPDX-License-Identifier: Apache-2.0
// Handles deleted policies. A policy that a user deleted has no effect from then on. A policy that the cluster deleted
// with its namespace or owner stays in force for the workloads that are being deleted with it: no user decided that they
// should serve without it. The API is asked after the deletion which case it is, because our own copies may be stale.

import type { MeshNames } from "@merlon/policy/mesh"
import { targetKey, targetsBefore } from "@merlon/policy/selection"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { guessedType, type OwnerReference, ownerReferences, ownerType } from "../kubernetes/owner-reference.js"
import { isGoing, type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { RetryingQuery } from "../observe/retrying-query.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { StoredPolicies } from "./stored-policies.js"
import { isSecurityPolicy, type StoredPolicy } from "./stored-policy.js"

export interface DeletedPoliciesOptions {
  readonly policies: StoredPolicies
  readonly client: Pick<KubernetesClient, "get">
  readonly directory: MeshDirectory
  readonly names: MeshNames
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

/** How long the cluster may take to begin with what else goes with an owner that we cannot ask for. */
const PATIENCE = 60_000

export class DeletedPolicies {
  readonly #options: DeletedPoliciesOptions
  readonly #clock: Clock
  readonly #queries: RetryingQuery
  readonly #stop: () => void

  constructor(options: DeletedPoliciesOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#queries = new RetryingQuery(this.#clock)
    this.#stop = options.directory.onChange(({ workloads }) => this.#workloadsChanged(workloads))
  }

  /** The policy is stored no more. */
  deleted(key: string): void {
    const { policies } = this.#options
    const stored = policies.items.get(key)
    if (stored === undefined) return
    const { kind, namespace, name } = stored
    // A policy that selects no workload protects none, so there is nothing to ask.
    if (this.#selected(stored).length === 0) {
      policies.delete(kind, namespace, name)
      return
    }
    policies.keepDeleted(kind, namespace, name, undefined)
    this.#settle(key)
  }

  stop(): void {
    this.#stop()
    this.#queries.stop()
  }

  #settle(key: string): void {
    let asked: StoredPolicy | undefined
    const since = this.#clock.monotonic()
    const question = (): Promise<ReadonlySet<string>> | undefined => {
      asked = this.#options.policies.items.get(key)
      // A policy with the same name may have been stored meanwhile.
      return asked?.deleted === undefined
        ? undefined
        : this.#staysFor(asked, this.#clock.monotonic() - since < PATIENCE)
    }
    this.#queries.ask(
      question,
      staysFor => {
        if (asked !== undefined) this.#settled(key, asked, staysFor)
      },
      // Fail closed: it stays in force until the deletion is known to be intended.
      error =>
        this.#options.warn(
          `why \`${key}\` was deleted cannot be found out yet, so it stays in force: ${String(error)}`,
        ),
    )
  }

  #settled(key: string, asked: StoredPolicy, staysFor: ReadonlySet<string>): void {
    const { policies } = this.#options
    const { kind, namespace, name } = asked
    if (policies.items.get(key) !== asked) return
    if (staysFor.size === 0) policies.delete(kind, namespace, name)
    else policies.keepDeleted(kind, namespace, name, staysFor)
  }

  async #staysFor(stored: StoredPolicy, patient: boolean): Promise<ReadonlySet<string>> {
    const { client } = this.#options
    const namespace = await client.get<KubernetesObject>(NAMESPACES, stored.namespace)
    const selected = this.#selected(stored)
    if (isGoing(namespace)) return uidsOf(selected)
    const going = new Set<MeshWorkload>()
    for (const owner of ownerReferences(stored.object.metadata)) {
      const fate = await this.#fateOf(owner, stored.namespace)
      if (fate === "stays") continue
      const alike = selected.filter(workload => goesWith(workload, owner))
      const along = fate === "gone" ? alike : await this.#goingAlready(selected, stored.namespace)
      if (fate === "unknown" && along.length === 0 && patient) {
        throw new Error(`\`${owner.kind}\` \`${owner.name}\`, which owned it, cannot be asked for`)
      }
      for (const workload of along) going.add(workload)
    }
    return uidsOf(going)
  }

  /** Of an owner that we have no right to ask for, or whose path we cannot guess, nothing is known. */
  async #fateOf(owner: OwnerReference, namespace: string): Promise<"gone" | "stays" | "unknown"> {
    const { client } = this.#options
    const known = ownerType(owner)
    try {
      const object = await client.get<KubernetesObject>(known ?? guessedType(owner), owner.name, namespace)
      if (known === undefined && object === undefined) return "unknown"
      return isGoing(object) || object?.metadata.uid !== owner.uid ? "gone" : "stays"
    } catch (error) {
      if (known === undefined && error instanceof ApiError && error.code >= 400 && error.code < 500) return "unknown"
      throw error
    }
  }

  /** Workloads that are on their way, by themselves or by what made them: whatever owns both took the policy along. */
  async #goingAlready(selected: readonly MeshWorkload[], namespace: string): Promise<readonly MeshWorkload[]> {
    const asked = new Map<string, Promise<boolean>>()
    const isMakerGoing = (maker: string): Promise<boolean> => {
      const [kind = "", name = ""] = maker.split("/")
      const type = ["apps/v1", "batch/v1"].flatMap(
        apiVersion => ownerType({ apiVersion, kind, name, uid: "" }) ?? [],
      )[0]
      if (type === undefined) return Promise.resolve(false)
      const found = asked.get(maker) ?? this.#options.client.get(type, name, namespace).then(isGoing)
      asked.set(maker, found)
      return found
    }
    const going: MeshWorkload[] = []
    for (const workload of selected) {
      const makers = await Promise.all(workload.owners.map(isMakerGoing))
      if (workload.leaving || makers.includes(true)) going.push(workload)
    }
    return going
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
    const { selector, targetRefs } = inForce.spec
    const { directory, names } = this.#options
    if (targetRefs !== undefined) {
      const targets = targetRefs.map(targetKey)
      const isBehindOne = (workload: MeshWorkload): boolean =>
        targetsBefore(workload, names).some(target => targets.includes(target))
      return [...directory.select({}, namespace)].filter(isBehindOne)
    }
    const scope = namespace === names.rootNamespace ? undefined : namespace
    return [...directory.select(selector?.matchLabels ?? {}, scope)]
  }
}

/** An owner that is going, and what it owns; a Pod that is on its way already goes with whatever else goes. */
function goesWith({ uid, owners, leaving }: MeshWorkload, owner: OwnerReference): boolean {
  return leaving || uid === owner.uid || owners.includes(owner.uid) || owners.includes(`${owner.kind}/${owner.name}`)
}

function uidsOf(workloads: Iterable<MeshWorkload>): ReadonlySet<string> {
  return new Set([...workloads].map(({ uid }) => uid))
}
