// SPDX-License-Identifier: Apache-2.0
// Dependencies of a status controller that a test controls: documents, workloads, proxies and keys.

import type { Kind } from "@merlon/policy/resources"
import { selects } from "@merlon/policy/selection"
import { keySetId } from "@merlon/policy/tokens"
import { resourceNames } from "@merlon/xds"
import type { VersionedResource } from "@merlon/xds/server"
import type { ProxyLedger, ProxyRecord } from "../../distribution/ledger.js"
import type { KeySetState, KeySets } from "../../keysets/key-sets.js"
import { type KubernetesObject, policyTypes } from "../../kubernetes/resource-type.js"
import { ManualClock, settle } from "../../observe/testing/manual-clock.js"
import { MemoryClient } from "../../observe/testing/memory-client.js"
import { StoredPolicies } from "../../policies/stored-policies.js"
import { isSecurityPolicy, policyKey, type SecurityKind } from "../../policies/stored-policy.js"
import type { DirectoryChange, MeshDirectory, MeshServiceEntry } from "../../registry/mesh-directory.js"
import type { MeshWorkload } from "../../registry/mesh-workload.js"
import type { ClientCount } from "../condition-inputs.js"
import type { EventReason } from "../events.js"
import { expectedVersions } from "../expected-versions.js"
import { StatusController } from "../status-controller.js"
import type { PolicyReach } from "../status-inputs.js"
import { mesh } from "./documents.js"

class Listeners<Args extends unknown[]> {
  readonly #all = new Set<(...args: Args) => void>()
  readonly add = (listener: (...args: Args) => void): (() => void) => {
    this.#all.add(listener)
    return () => {
      this.#all.delete(listener)
    }
  }
  notify(...args: Args): void {
    for (const listener of this.#all) listener(...args)
  }
}

const NO_CLIENTS: ClientCount = { clients: 0, acknowledged: 0, waiting: [], rejection: undefined }

export class Stage {
  readonly clock = new ManualClock()
  readonly client = new MemoryClient()
  readonly events: string[] = []
  readonly warnings: string[] = []
  leader = true
  /** Namespaces that have not opted in. */
  readonly outside = new Set<string>()
  /** How often all workloads of a policy were looked up. */
  selections = 0
  readonly #policies = new StoredPolicies({ names: mesh.names, onInvalid: () => undefined })
  readonly #workloads = new Map<string, MeshWorkload>()
  readonly #services = new Map<string, MeshServiceEntry>()
  readonly #directoryListeners = new Listeners<[DirectoryChange]>()
  readonly #proxies = new Map<string, ProxyRecord>()
  readonly #ledgerListeners = new Listeners<[ReadonlySet<string>]>()
  readonly #keys = new Map<string, KeySetState>()
  readonly #keyListeners = new Listeners<[string, { readonly jwks: boolean }]>()
  readonly #selectionListeners = new Listeners<[ReadonlySet<string>]>()
  readonly #clients = new Map<string, ClientCount>()
  readonly #clientListeners = new Listeners<[ReadonlySet<string>]>()
  readonly #memberListeners = new Listeners<[string]>()
  readonly controller: StatusController

  constructor({ echo = true, settleMs = 10_000 } = {}) {
    this.controller = new StatusController({
      mesh,
      clusterDomain: "cluster.local",
      client: this.client,
      policies: this.#policies,
      directory: this.#directory(),
      ledger: { proxies: this.#proxies, onChange: this.#ledgerListeners.add } satisfies ProxyLedger,
      keySets: this.#keySets(),
      reach: this.#reach(),
      clients: {
        count: (namespace, name) => this.#clients.get(`${namespace}/${name}`) ?? NO_CLIENTS,
        onChange: this.#clientListeners.add,
      },
      members: {
        isMember: ({ namespace, proxied }) => proxied || !this.outside.has(namespace),
        onChange: this.#memberListeners.add,
      },
      ready: Promise.resolve(),
      isLeader: () => this.leader,
      events: { record: ({ name }, reason: EventReason) => this.events.push(`${reason} ${name}`) },
      warn: message => this.warnings.push(message),
      clock: this.clock,
      settleMs,
    })
    if (echo) this.client.beforeWrite = () => this.#echoSoon()
  }

  /** Stores a document, like a client that applies it. */
  apply(object: KubernetesObject): void {
    const kind = object.kind as Kind // tests apply only our kinds
    this.#policies.set(kind, this.client.put(policyTypes(mesh.names)[kind], object))
    this.#selectionListeners.notify(new Set([policyKey(kind, object.metadata.namespace ?? "", object.metadata.name)]))
  }

  remove(kind: Kind, key: string): void {
    const [namespace = "", name = ""] = key.split("/")
    this.client.objects.delete(`${policyTypes(mesh.names)[kind].plural}/${key}`)
    this.#policies.delete(kind, namespace, name)
  }

  setWorkloads(...workloads: MeshWorkload[]): void {
    for (const workload of workloads) this.#workloads.set(workload.key, workload)
    this.#directoryListeners.notify({
      workloads: new Set(workloads.map(({ key }) => key)),
      services: new Set(),
      addresses: new Set(),
    })
    this.#selectionListeners.notify(new Set(this.#policies.items.keys()))
  }

  optIn(namespace: string): void {
    this.outside.delete(namespace)
    this.#memberListeners.notify(namespace)
  }

  setService(service: MeshServiceEntry): void {
    this.#services.set(service.host, service)
    this.#directoryListeners.notify({ workloads: new Set(), services: new Set([service.host]), addresses: new Set() })
  }

  setKeys(rule: { issuer?: string; jwksUri?: string }, state: Partial<KeySetState>, jwks: boolean): void {
    const id = keySetId(rule)
    const none = { id, jwks: undefined, keys: 0, fetchedAt: undefined, nextFetchAt: undefined, error: undefined }
    this.#keys.set(id, { ...none, ...this.#keys.get(id), ...state })
    this.#keyListeners.notify(id, { jwks })
  }

  setClients(meshService: string, count: Partial<ClientCount>): void {
    this.#clients.set(meshService, { ...NO_CLIENTS, ...count })
    this.#clientListeners.notify(new Set([meshService]))
  }

  /** The proxy acknowledges everything that it has to enforce now. */
  acknowledge(key: string, pod?: string): void {
    const { enforcer } = this.#proxies.get(key) ?? {}
    this.#report(key, { enforced: this.#viewOf(key), enforcer, pod })
  }

  connect(key: string, { enforcer }: Pick<ProxyRecord, "enforcer"> = {}): void {
    this.#report(key, { enforced: new Map(), enforcer })
  }

  reject(key: string, message: string): void {
    const resources = new Set(this.#viewOf(key).keys())
    this.#report(key, { enforced: new Map(), rejection: { revision: 1, message, resources } })
  }

  disconnect(key: string): void {
    this.#proxies.delete(key)
    this.#ledgerListeners.notify(new Set([key]))
  }

  received(kind: Kind, key: string, type = "Enforced"): string {
    const object = this.client.objects.get(`${policyTypes(mesh.names)[kind].plural}/${key}`)
    const { conditions = [] } = (object?.status ?? {}) as { conditions?: { [field: string]: string }[] }
    const condition = conditions.find(candidate => candidate.type === type)
    return condition === undefined ? "nothing" : `${condition.status} ${condition.reason}: ${condition.message}`
  }

  get statusWrites(): number {
    return this.client.writes.filter(({ verb }) => verb === "patch").length
  }

  /** Returns the written status as an event, like a watch. */
  #echoSoon(): void {
    setImmediate(() => {
      for (const { kind, namespace, name, object } of this.#policies.items.values()) {
        const stored = this.client.objects.get(`${policyTypes(mesh.names)[kind].plural}/${namespace}/${name}`)
        if (stored !== undefined && stored !== object) this.#policies.set(kind, stored)
      }
    })
  }

  #report(key: string, record: Partial<ProxyRecord>): void {
    const empty = { key, connectedAt: 0, enforced: new Map(), rejection: undefined, signer: undefined }
    this.#proxies.set(key, { ...empty, ...record })
    this.#ledgerListeners.notify(new Set([key]))
  }

  #directory(): MeshDirectory {
    const select: MeshDirectory["select"] = (labels, namespace) =>
      [...this.#workloads.values()].filter(
        workload =>
          (namespace === undefined || workload.namespace === namespace) && selects({ matchLabels: labels }, workload),
      )
    return {
      workloads: this.#workloads,
      services: this.#services,
      select,
      behind: ({ selector, namespace }) => (selector === undefined ? [] : select(selector, namespace)),
      at: () => ({ services: [], workloads: [] }),
      onChange: this.#directoryListeners.add,
    }
  }

  #keySets(): KeySets {
    return {
      need: () => undefined,
      get: id => this.#keys.get(id),
      reportUnknownKey: () => undefined,
      onChange: this.#keyListeners.add,
    }
  }

  #reach(): PolicyReach {
    return {
      selectedBy: (kind, namespace, name) => {
        this.selections++
        return this.#selectedBy(kind, namespace, name)
      },
      onSelectionChange: this.#selectionListeners.add,
      get: key => {
        const resources = new Map(
          [...this.#viewOf(key)].map(([name, { version }]): [string, VersionedResource] => [
            name,
            { name, version, value: new Uint8Array() },
          ]),
        )
        return { revision: 1, resources }
      },
    }
  }

  #selectedBy(kind: SecurityKind, namespace: string, name: string): ReadonlySet<string> {
    const document = this.#policies.items.get(policyKey(kind, namespace, name))?.inForce
    if (document === undefined || document.kind === "MeshService") return new Set()
    const { selector } = document.spec
    const inScope = [...this.#workloads.values()].filter(
      workload => namespace === mesh.names.rootNamespace || workload.namespace === namespace,
    )
    return new Set(inScope.filter(workload => selects(selector, workload)).map(({ key }) => key))
  }

  #viewOf(key: string): Map<string, { readonly version: string }> {
    const view = new Map<string, { readonly version: string }>()
    for (const { inForce, namespace, name } of this.#policies.items.values()) {
      if (inForce === undefined || !isSecurityPolicy(inForce)) continue
      if (!this.#selectedBy(inForce.kind, namespace, name).has(key)) continue
      const expected = expectedVersions(inForce, mesh.names, id => this.#keys.get(id)?.jwks)
      for (const [name, version] of expected) view.set(name, { version })
      view.set(resourceNames.workload, { version: "1" })
    }
    return view
  }

  settle = settle
}
