// SPDX-License-Identifier: Apache-2.0
// Computes what each proxy should enforce. Data flows one way: a change goes into the resource index, the index returns
// the affected workloads, and a burst of changes makes one revision of their views. INVARIANT: no view exists before
// `begin`, which is called once everything stored has been read: a view that lacks a policy only because it has not
// arrived yet would allow requests that the policy denies.

import { Emitter } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import { type PolicySource, policyKey, type SecurityKind } from "../policies/stored-policy.js"
import type { Scheduler } from "./burst.js"
import { PendingChanges } from "./pending-changes.js"
import type { ProxyView, ProxyViews } from "./proxy-views.js"
import { ResourceIndex, type ResourceIndexOptions } from "./resource-index.js"

export interface WorkloadViewsOptions extends ResourceIndexOptions {
  readonly policies: PolicySource
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
  readonly scheduler?: Scheduler
}

export class WorkloadViews implements ProxyViews {
  readonly #options: WorkloadViewsOptions
  readonly #index: ResourceIndex
  readonly #pending: PendingChanges
  readonly #now: () => number
  readonly #views = new Map<string, ProxyView>()
  readonly #changes = new Emitter<[workloads: ReadonlySet<string>]>()
  readonly #selections = new Emitter<[policies: ReadonlySet<string>]>()
  readonly #stops: readonly (() => void)[]
  #isBeingDeleted: ((namespace: string) => boolean) | undefined
  #revision = 0

  constructor(options: WorkloadViewsOptions) {
    const { policies, directory, keySets, trust, scheduler, now = Date.now } = options
    const index = new ResourceIndex(options)
    const pending = new PendingChanges(() => this.#flush(), scheduler)
    this.#options = options
    this.#index = index
    this.#pending = pending
    this.#now = now
    this.#stops = [
      policies.onChange(change => pending.add(index.policyChanged(change))),
      directory.onChange(({ workloads }) => pending.add(index.workloadsChanged(workloads))),
      trust.onChange(() => pending.add(index.trustChanged())),
      keySets.onChange((id, { jwks }) => {
        if (jwks) pending.add(index.keysChanged(id))
      }),
      () => pending.stop(),
    ]
    pending.add({ workloads: directory.workloads.keys() })
    for (const after of policies.items.values()) pending.add(index.policyChanged({ before: undefined, after }))
  }

  get(workload: string): ProxyView | undefined {
    return this.#views.get(workload)
  }

  /** Keys of all workloads that the policy selects now, with or without a proxy. Updated in place. */
  selectedBy(kind: SecurityKind, namespace: string, name: string): ReadonlySet<string> {
    return this.#index.selectedBy(policyKey(kind, namespace, name))
  }

  onChange(listener: (workloads: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  /** Keys (`Kind/namespace/name`) of policies that changed or select other workloads than before, once per burst. */
  onSelectionChange(listener: (policies: ReadonlySet<string>) => void): () => void {
    return this.#selections.on(listener)
  }

  /** Everything stored has been read: creates the views. A namespace that is being deleted gets no first views. */
  begin(isBeingDeleted: (namespace: string) => boolean = () => false): void {
    this.#isBeingDeleted ??= isBeingDeleted
    this.#pending.begin()
  }

  /** Processes all changes until now at once. */
  settle(): void {
    this.#pending.settle()
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  #flush(): void {
    // Keys that are available at once are reported at once: those workloads are part of this flush.
    const rules = this.#index.takeNeededRules()
    if (rules !== undefined) this.#options.keySets.need(rules)
    const { workloads, policies } = this.#pending.take()
    const changed = this.#revise(workloads)
    if (changed.size > 0) this.#changes.emit(changed)
    if (policies.size > 0) this.#selections.emit(policies)
  }

  /** Returns the workloads whose view changed. */
  #revise(workloads: ReadonlySet<string>): ReadonlySet<string> {
    // From the wall clock, so that a restarted control plane continues above the revisions it gave out before:
    // revisions never grow faster than one per millisecond.
    const revision = Math.max(this.#revision + 1, Math.floor(this.#now()))
    const changed = new Set<string>()
    for (const key of workloads) if (this.#reviseView(key, revision)) changed.add(key)
    if (changed.size > 0) this.#revision = revision
    return changed
  }

  #reviseView(key: string, revision: number): boolean {
    const workload = this.#options.directory.workloads.get(key)
    if (workload === undefined || !workload.proxied) return this.#views.delete(key)
    const before = this.#views.get(key)
    // Fail closed: its policies may have been deleted before we started. Its proxy keeps its configuration, and a proxy
    // without one denies everything.
    if (before === undefined && this.#isBeingDeleted?.(workload.namespace) === true) return false
    const resources = this.#index.resourcesOf(workload)
    if (before !== undefined && sameResources(before.resources, resources)) return false
    this.#views.set(key, { revision, resources })
    return true
  }
}

function sameResources(a: ReadonlyMap<string, VersionedResource>, b: ReadonlyMap<string, VersionedResource>): boolean {
  if (a.size !== b.size) return false
  for (const [name, { version }] of a) if (b.get(name)?.version !== version) return false
  return true
}
