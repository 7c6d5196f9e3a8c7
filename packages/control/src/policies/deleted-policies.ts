// SPDX-License-Identifier: Apache-2.0
// Handles deleted policies. A policy that a user deleted has no effect from then on. A policy that the cluster deleted
// with its namespace or owner stays in effect for the workloads that are being deleted with it: no user decided that
// they should run without it. We ask the API after the deletion which case it is, because our own copies may be stale.

import type { MeshNames } from "@merlon/policy/mesh"
import { targetKey, targetsBefore } from "@merlon/policy/selection"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { inferredType, type OwnerReference, ownerReferences, ownerType } from "../kubernetes/owner-reference.js"
import { isBeingDeleted, type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
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

/** How long the cluster may take to start deleting the other objects of an owner that we cannot read. */
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

  /** Called when the policy is no longer stored. */
  deleted(key: string): void {
    const { policies } = this.#options
    const stored = policies.items.get(key)
    if (stored === undefined) return
    const { kind, namespace, name } = stored
    // A policy that selects no workload protects none, so no query is needed.
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
      // A policy with the same name may have been stored in the meantime.
      return asked?.deleted === undefined
        ? undefined
        : this.#staysFor(asked, this.#clock.monotonic() - since < PATIENCE)
    }
    this.#queries.ask(
      question,
      staysFor => {
        if (asked !== undefined) this.#settled(key, asked, staysFor)
      },
      // Fail closed: it stays in effect until the deletion is known to be intended.
      error =>
        this.#options.warn(`cannot determine yet why \`${key}\` was deleted, so it stays enforced: ${String(error)}`),
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
    if (isBeingDeleted(namespace)) return uidsOf(selected)
    const going = new Set<MeshWorkload>()
    for (const owner of ownerReferences(stored.object.metadata)) {
      const state = await this.#stateOf(owner, stored.namespace)
      if (state === "stays") continue
      const owned = selected.filter(workload => isDeletedWith(workload, owner))
      const along = state === "gone" ? owned : await this.#beingDeleted(selected, stored.namespace)
      if (state === "unknown" && along.length === 0 && patient) {
        throw new Error(`\`${owner.kind}\` \`${owner.name}\`, which owned it, cannot be read`)
      }
      for (const workload of along) going.add(workload)
    }
    return uidsOf(going)
  }

  /** `unknown` for an owner that we may not read, or whose path we cannot derive. */
  async #stateOf(owner: OwnerReference, namespace: string): Promise<"gone" | "stays" | "unknown"> {
    const { client } = this.#options
    const known = ownerType(owner)
    try {
      const object = await client.get<KubernetesObject>(known ?? inferredType(owner), owner.name, namespace)
      if (known === undefined && object === undefined) return "unknown"
      return isBeingDeleted(object) || object?.metadata.uid !== owner.uid ? "gone" : "stays"
    } catch (error) {
      if (known === undefined && error instanceof ApiError && error.code >= 400 && error.code < 500) return "unknown"
      throw error
    }
  }

  /** Workloads that are being deleted, directly or through an owner: an owner of both also deleted the policy. */
  async #beingDeleted(selected: readonly MeshWorkload[], namespace: string): Promise<readonly MeshWorkload[]> {
    const asked = new Map<string, Promise<boolean>>()
    const isOwnerBeingDeleted = (owner: string): Promise<boolean> => {
      const [kind = "", name = ""] = owner.split("/")
      const type = ["apps/v1", "batch/v1"].flatMap(
        apiVersion => ownerType({ apiVersion, kind, name, uid: "" }) ?? [],
      )[0]
      if (type === undefined) return Promise.resolve(false)
      const found = asked.get(owner) ?? this.#options.client.get(type, name, namespace).then(isBeingDeleted)
      asked.set(owner, found)
      return found
    }
    const going: MeshWorkload[] = []
    for (const workload of selected) {
      const deletions = await Promise.all(workload.owners.map(isOwnerBeingDeleted))
      if (workload.leaving || deletions.includes(true)) going.push(workload)
    }
    return going
  }

  /** Workloads that are gone need no policy any more: their proxies keep their configuration. */
  #workloadsChanged(keys: ReadonlySet<string>): void {
    const { policies, directory } = this.#options
    const isGone = [...keys].some(key => !directory.workloads.has(key))
    if (!isGone) return
    const kept = [...policies.items.values()].filter(({ deleted }) => deleted?.staysFor !== undefined)
    if (kept.length === 0) return
    const running = uidsOf(directory.workloads.values())
    for (const { kind, namespace, name, deleted } of kept) {
      if (![...(deleted?.staysFor ?? [])].some(uid => running.has(uid))) policies.delete(kind, namespace, name)
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

/** Whether the workload is, or belongs to, an owner that is being deleted, or is being deleted already itself. */
function isDeletedWith({ uid, owners, leaving }: MeshWorkload, owner: OwnerReference): boolean {
  return leaving || uid === owner.uid || owners.includes(owner.uid) || owners.includes(`${owner.kind}/${owner.name}`)
}

function uidsOf(workloads: Iterable<MeshWorkload>): ReadonlySet<string> {
  return new Set([...workloads].map(({ uid }) => uid))
}
