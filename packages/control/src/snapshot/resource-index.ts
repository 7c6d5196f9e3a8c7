// SPDX-License-Identifier: Apache-2.0
// Everything that is sent to proxies, encoded once: policies and the workloads they select, keys, trust, workloads.
// Each change returns what it affects. This file knows nothing about views or time.

import type { MeshConfig } from "@merlon/policy/mesh"
import { encodeProxyResource, type MeshSpec, resourceNames, trustVersion } from "@merlon/xds"
import { contentVersion } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import type { TrustSource } from "../authority/trust-source.js"
import type { KeySets, NeededRule } from "../keysets/key-sets.js"
import { isSecurityPolicy, type PolicyChange, type StoredPolicy } from "../policies/stored-policy.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { type Encode, type EncodedPolicy, encodePolicy } from "./encoded-policy.js"
import { KeyResources } from "./key-resources.js"
import type { Touched } from "./pending-changes.js"
import { Selection } from "./selection.js"
import { meshSpec, workloadSpec } from "./workload-spec.js"

export interface ResourceIndexOptions {
  readonly mesh: MeshConfig
  readonly directory: MeshDirectory
  readonly keySets: KeySets
  readonly trust: TrustSource
  readonly encode?: Encode
}

interface EncodedWorkload {
  readonly workload: MeshWorkload
  readonly resource: VersionedResource
}

const NOTHING: Touched = {}

export class ResourceIndex {
  readonly #mesh: MeshConfig
  readonly #spec: MeshSpec
  readonly #directory: MeshDirectory
  readonly #trustSource: TrustSource
  readonly #encode: Encode
  readonly #policies = new Map<string, EncodedPolicy>()
  readonly #selection: Selection
  readonly #keys: KeyResources
  readonly #workloads = new Map<string, EncodedWorkload>()
  #trust: VersionedResource
  #rulesChanged = true

  constructor({ mesh, directory, keySets, trust, encode = encodeProxyResource }: ResourceIndexOptions) {
    this.#mesh = mesh
    this.#spec = meshSpec(mesh)
    this.#directory = directory
    this.#trustSource = trust
    this.#encode = encode
    this.#selection = new Selection(directory, mesh)
    this.#keys = new KeyResources(keySets, encode)
    this.#trust = this.#encodeTrust()
  }

  policyChanged({ before: old, after: stored }: PolicyChange): Touched {
    const key = (stored ?? old)?.key
    const staysFor = stored?.deleted?.staysFor
    const isSame = old?.inForce === stored?.inForce && old?.deleted?.staysFor === staysFor
    if (key === undefined || (old !== undefined && isSame)) return NOTHING
    const before = this.#policies.get(key)
    const after = this.#encodePolicy(stored)
    if (before?.resource.version === after?.resource.version && before?.staysFor === staysFor) return NOTHING
    if (after === undefined) this.#policies.delete(key)
    else this.#policies.set(key, after)
    if (this.#keys.replace(before, after)) this.#rulesChanged = true
    return { workloads: this.#selection.replacePolicy({ before, after }), policies: [key] }
  }

  workloadsChanged(workloads: ReadonlySet<string>): Touched {
    const policies = new Set<string>()
    for (const key of workloads) {
      for (const policy of this.#selection.reviseWorkload(key)) policies.add(policy)
      if (this.#directory.workloads.get(key)?.proxied !== true) this.#workloads.delete(key)
    }
    return { workloads, policies }
  }

  keysChanged(id: string): Touched {
    const workloads = new Set<string>()
    for (const { key } of this.#keys.holders(id)) for (const each of this.selectedBy(key)) workloads.add(each)
    return { workloads }
  }

  trustChanged(): Touched {
    const trust = this.#encodeTrust()
    if (trust.version === this.#trust.version) return NOTHING
    this.#trust = trust
    return { workloads: this.#directory.workloads.keys() }
  }

  /** Keys of all workloads that the policy selects now, with or without a proxy. Updated in place. */
  selectedBy(policy: string): ReadonlySet<string> {
    return this.#selection.selectedBy(policy)
  }

  /** Rules whose keys have to be fetched; undefined if they have not changed since the last call. */
  takeNeededRules(): Iterable<NeededRule> | undefined {
    if (!this.#rulesChanged) return undefined
    this.#rulesChanged = false
    return this.#neededRules()
  }

  /** All resources that are sent to the workload's proxy, by name on the wire. */
  resourcesOf(workload: MeshWorkload): ReadonlyMap<string, VersionedResource> {
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

  *#neededRules(): Iterable<NeededRule> {
    for (const { document, namespace } of this.#policies.values()) {
      if (document.kind !== "RequestAuthentication") continue
      for (const rule of document.spec.jwtRules ?? []) if (rule.jwks === undefined) yield { rule, namespace }
    }
  }

  #encodePolicy(stored: StoredPolicy | undefined): EncodedPolicy | undefined {
    const document = stored?.inForce
    if (document === undefined || !isSecurityPolicy(document)) return undefined
    const encoded = encodePolicy(document, this.#mesh.names, this.#encode)
    const staysFor = stored?.deleted?.staysFor
    return staysFor === undefined ? encoded : { ...encoded, staysFor }
  }

  #workloadResource(workload: MeshWorkload): VersionedResource {
    const known = this.#workloads.get(workload.key)
    if (known?.workload === workload) return known.resource
    const spec = workloadSpec(workload, this.#spec)
    const version = contentVersion(spec)
    const resource =
      known?.resource.version === version
        ? known.resource
        : { name: resourceNames.workload, version, value: this.#encode({ kind: "workload", workload: spec }) }
    this.#workloads.set(workload.key, { workload, resource })
    return resource
  }

  #encodeTrust(): VersionedResource {
    const { current } = this.#trustSource
    const value = this.#encode({ kind: "trust", trust: current })
    return { name: resourceNames.trust, version: trustVersion(current), value }
  }
}
