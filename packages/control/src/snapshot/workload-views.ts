// SPDX-License-Identifier: Apache-2.0
// What each proxy is to enforce, made from workloads, policies, keys and trust. A change marks the workloads it touches;
// a burst of changes makes one revision. INVARIANT: no view exists before `begin`, which is called when everything
// stored has been read: a view without a policy that only has not arrived yet would admit what it refuses.

import type { MeshConfig } from "@merlon/policy"
import {
  contentVersion,
  Emitter,
  encodeProxyResource,
  type MeshSpec,
  resourceNames,
  trustVersion,
  type VersionedResource,
} from "@merlon/xds"
import type { TrustSource } from "../authority/trust-source.js"
import type { KeySets, NeededRule } from "../keysets/key-sets.js"
import {
  isSecurityPolicy,
  type PolicyChange,
  type PolicySource,
  policyKey,
  type SecurityKind,
  type StoredPolicy,
} from "../policies/stored-policy.js"
import type { DirectoryChange, MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { Burst, type Scheduler } from "./burst.js"
import { KeyResources } from "./key-resources.js"
import type { ProxyView, ProxyViews } from "./proxy-views.js"
import { Selection } from "./selection.js"
import { type Encode, type ShelvedPolicy, shelve } from "./shelved-policy.js"
import { meshSpec, workloadSpec } from "./workload-spec.js"

export interface WorkloadViewsOptions {
  readonly mesh: MeshConfig
  readonly policies: PolicySource
  readonly directory: MeshDirectory
  readonly keySets: KeySets
  readonly trust: TrustSource
  readonly encode?: Encode
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
  readonly scheduler?: Scheduler
}

interface Known {
  readonly workload: MeshWorkload
  readonly resource: VersionedResource
}

export class WorkloadViews implements ProxyViews {
  readonly #options: WorkloadViewsOptions
  readonly #mesh: MeshSpec
  readonly #shelf = new Map<string, ShelvedPolicy>()
  readonly #selection: Selection
  readonly #keys: KeyResources
  readonly #burst: Burst
  readonly #now: () => number
  readonly #encode: Encode
  readonly #known = new Map<string, Known>()
  readonly #views = new Map<string, ProxyView>()
  readonly #dirty = new Set<string>()
  readonly #reselected = new Set<string>()
  readonly #changes = new Emitter<[workloads: ReadonlySet<string>]>()
  readonly #selections = new Emitter<[policies: ReadonlySet<string>]>()
  readonly #stops: readonly (() => void)[]
  #trust: VersionedResource
  #rulesChanged = true
  #begun = false
  #isGoing: (namespace: string) => boolean = () => false
  #revision = 0

  constructor(options: WorkloadViewsOptions) {
    const {
      mesh,
      policies,
      directory,
      keySets,
      trust,
      scheduler,
      now = Date.now,
      encode = encodeProxyResource,
    } = options
    this.#options = options
    this.#mesh = meshSpec(mesh)
    this.#now = now
    this.#encode = encode
    this.#selection = new Selection(directory, mesh)
    this.#keys = new KeyResources(keySets, encode)
    this.#burst = new Burst(() => this.#flush(), scheduler)
    this.#trust = this.#encodeTrust()
    this.#stops = [
      policies.onChange(change => this.#policyChanged(change)),
      directory.onChange(change => this.#directoryChanged(change)),
      trust.onChange(() => this.#trustChanged()),
      keySets.onChange((id, { jwks }) => {
        if (jwks) this.#keysChanged(id)
      }),
      () => this.#burst.stop(),
    ]
    for (const key of directory.workloads.keys()) this.#touch(key)
    for (const after of policies.items.values()) this.#policyChanged({ before: undefined, after })
  }

  get(workload: string): ProxyView | undefined {
    return this.#views.get(workload)
  }

  /** Keys of all workloads that the policy selects now, with a proxy and without. Kept up to date in place. */
  selectedBy(kind: SecurityKind, namespace: string, name: string): ReadonlySet<string> {
    return this.#selection.selectedBy(policyKey(kind, namespace, name))
  }

  onChange(listener: (workloads: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  /** Keys (`Kind/namespace/name`) of policies that changed or select other workloads than before, once per burst. */
  onSelectionChange(listener: (policies: ReadonlySet<string>) => void): () => void {
    return this.#selections.on(listener)
  }

  /** Everything stored has been read: from here on there are views, but none is begun of a namespace that goes. */
  begin(isGoing: (namespace: string) => boolean = () => false): void {
    if (this.#begun) return
    this.#begun = true
    this.#isGoing = isGoing
    this.#flush()
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  #directoryChanged({ workloads }: DirectoryChange): void {
    for (const key of workloads) {
      for (const policy of this.#selection.reviseWorkload(key)) this.#reselected.add(policy)
      this.#touch(key)
    }
  }

  #policyChanged({ before: old, after: stored }: PolicyChange): void {
    const key = (stored ?? old)?.key
    const staysFor = stored?.deleted?.staysFor
    const isSame = old?.inForce === stored?.inForce && old?.deleted?.staysFor === staysFor
    if (key === undefined || (old !== undefined && isSame)) return
    const before = this.#shelf.get(key)
    const after = this.#shelved(stored)
    if (before?.resource.version === after?.resource.version && before?.staysFor === staysFor) return
    if (after === undefined) this.#shelf.delete(key)
    else this.#shelf.set(key, after)
    if (this.#keys.replace(before, after)) this.#rulesChanged = true
    for (const workload of this.#selection.replacePolicy({ before, after })) this.#touch(workload)
    this.#reselected.add(key)
    this.#request()
  }

  #shelved(stored: StoredPolicy | undefined): ShelvedPolicy | undefined {
    const document = stored?.inForce
    if (document === undefined || !isSecurityPolicy(document)) return undefined
    const shelved = shelve(document, this.#options.mesh.names, this.#encode)
    const staysFor = stored?.deleted?.staysFor
    return staysFor === undefined ? shelved : { ...shelved, staysFor }
  }

  #keysChanged(id: string): void {
    for (const policy of this.#keys.holders(id)) {
      for (const workload of this.#selection.selectedBy(policy.key)) this.#touch(workload)
    }
  }

  #trustChanged(): void {
    const trust = this.#encodeTrust()
    if (trust.version === this.#trust.version) return
    this.#trust = trust
    for (const key of this.#options.directory.workloads.keys()) this.#touch(key)
  }

  #touch(workload: string): void {
    this.#dirty.add(workload)
    this.#request()
  }

  #request(): void {
    if (this.#begun) this.#burst.request()
  }

  #flush(): void {
    if (this.#rulesChanged) {
      this.#rulesChanged = false
      // What it finds at once it tells at once: those workloads are part of this flush.
      this.#options.keySets.need(this.#rules())
    }
    // Of the wall clock, so that a control plane that starts anew goes on above what it gave out before: revisions come
    // no faster than milliseconds.
    const revision = Math.max(this.#revision + 1, Math.floor(this.#now()))
    const changed = new Set<string>()
    for (const key of this.#dirty) if (this.#revise(key, revision)) changed.add(key)
    this.#dirty.clear()
    if (changed.size > 0) this.#revision = revision
    const reselected = new Set(this.#reselected)
    this.#reselected.clear()
    if (changed.size > 0) this.#changes.emit(changed)
    if (reselected.size > 0) this.#selections.emit(reselected)
  }

  *#rules(): Iterable<NeededRule> {
    for (const { document, namespace } of this.#shelf.values()) {
      if (document.kind !== "RequestAuthentication") continue
      for (const rule of document.spec.jwtRules ?? []) if (rule.jwks === undefined) yield { rule, namespace }
    }
  }

  /** Whether the view is another than before. */
  #revise(key: string, revision: number): boolean {
    const workload = this.#options.directory.workloads.get(key)
    if (workload === undefined || !workload.proxied) {
      this.#known.delete(key)
      return this.#views.delete(key)
    }
    const before = this.#views.get(key)
    // Fail closed: its policies may have gone before we came. Its proxy keeps what it has; one without refuses.
    if (before === undefined && this.#isGoing(workload.namespace)) return false
    const resources = this.#resources(workload)
    if (before !== undefined && sameResources(before.resources, resources)) return false
    this.#views.set(key, { revision, resources })
    return true
  }

  #resources(workload: MeshWorkload): ReadonlyMap<string, VersionedResource> {
    const own = this.#workloadResource(workload)
    const resources = new Map([
      [own.name, own],
      [this.#trust.name, this.#trust],
    ])
    for (const { resource, keySets } of this.#selection.policiesOf(workload.key)) {
      resources.set(resource.name, resource)
      for (const id of keySets) {
        const keys = this.#keys.get(id)
        if (keys !== undefined) resources.set(keys.name, keys)
      }
    }
    return resources
  }

  #workloadResource(workload: MeshWorkload): VersionedResource {
    const known = this.#known.get(workload.key)
    if (known?.workload === workload) return known.resource
    const spec = workloadSpec(workload, this.#mesh)
    const version = contentVersion(spec)
    const resource =
      known?.resource.version === version
        ? known.resource
        : {
            name: resourceNames.workload,
            version,
            value: this.#encode({ kind: "workload", workload: spec }),
          }
    this.#known.set(workload.key, { workload, resource })
    return resource
  }

  #encodeTrust(): VersionedResource {
    const { current } = this.#options.trust
    const value = this.#encode({ kind: "trust", trust: current })
    return { name: resourceNames.trust, version: trustVersion(current), value }
  }
}

function sameResources(a: ReadonlyMap<string, VersionedResource>, b: ReadonlyMap<string, VersionedResource>): boolean {
  if (a.size !== b.size) return false
  for (const [name, { version }] of a) if (b.get(name)?.version !== version) return false
  return true
}
