// SPDX-License-Identifier: Apache-2.0
// The workloads and Services of the mesh, updated one object at a time. A changed Pod affects that Pod and the Services
// that select it; a changed Service affects the Pods it selects or selected. Nothing else is computed again.

import { isDeepStrictEqual } from "node:util"
import type { MeshNames } from "@merlon/policy/mesh"
import { Emitter } from "@merlon/xds/runtime"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { AddressIndex } from "./address-index.js"
import { LabelIndex } from "./label-index.js"
import type { AtAddress, DirectoryChange, MeshDirectory, MeshServiceEntry } from "./mesh-directory.js"
import type { MeshWorkload } from "./mesh-workload.js"
import { type PodFacts, readPod, type Warn } from "./pod-reading.js"
import { SelectorIndex } from "./selector-index.js"
import { readService, type ServiceFacts, serviceHost } from "./service-reading.js"
import { ascending } from "./udp.js"
import { workloadPorts } from "./workload-ports.js"

export interface RegistryOptions {
  readonly names: MeshNames
  readonly clusterDomain?: string
  readonly warn?: Warn
}

interface FiledService {
  readonly facts: ServiceFacts
  readonly namespace: string
  readonly selector: { readonly [key: string]: string }
}

export class Registry implements MeshDirectory {
  readonly #names: MeshNames
  readonly #clusterDomain: string
  readonly #warn: Warn
  readonly #pods = new Map<string, PodFacts>()
  readonly #workloads = new Map<string, MeshWorkload>()
  readonly #byLabel = new LabelIndex<MeshWorkload>()
  readonly #entries = new Map<string, MeshServiceEntry>()
  /** By host. */
  readonly #services = new Map<string, FiledService>()
  /** Services with a selector. */
  readonly #bySelector = new SelectorIndex<FiledService>()
  readonly #servicesAt = new AddressIndex<MeshServiceEntry>()
  readonly #workloadsAt = new AddressIndex<MeshWorkload>()
  readonly #changes = new Emitter<[change: DirectoryChange]>()

  constructor({ names, clusterDomain = "cluster.local", warn = () => {} }: RegistryOptions) {
    this.#names = names
    this.#clusterDomain = clusterDomain
    this.#warn = warn
  }

  get workloads(): ReadonlyMap<string, MeshWorkload> {
    return this.#workloads
  }

  get services(): ReadonlyMap<string, MeshServiceEntry> {
    return this.#entries
  }

  select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<MeshWorkload> {
    return this.#byLabel.select(labels, namespace)
  }

  behind({ selector, namespace }: MeshServiceEntry): Iterable<MeshWorkload> {
    return selector === undefined ? [] : this.#byLabel.select(selector, namespace)
  }

  at(address: string): AtAddress {
    return { services: this.#servicesAt.at(address), workloads: this.#workloadsAt.at(address) }
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    return this.#changes.on(listener)
  }

  setPod(pod: KubernetesObject): void {
    const warnings: [string, string][] = []
    const facts = readPod(pod, this.#names, (key, message) => warnings.push([key, message]))
    if (facts === undefined) {
      this.deletePod(pod.metadata.namespace ?? "default", pod.metadata.name)
      return
    }
    const before = this.#pods.get(facts.key)
    // Most changes of a Pod are heartbeats and the like, which have no effect here.
    if (before !== undefined && isDeepStrictEqual(before, facts)) return
    for (const [key, message] of warnings) this.#warn(key, message)
    this.#pods.set(facts.key, facts)
    const services = [...this.#servicesSelecting(facts)]
    this.#file(workloadOf(facts, services))
    const touched = before === undefined ? services : [...services, ...this.#servicesSelecting(before)]
    this.#announce([facts.key], touched.map(hostOf), [...facts.addresses, ...(before?.addresses ?? [])])
  }

  deletePod(namespace: string, name: string): void {
    const key = `${namespace}/${name}`
    const facts = this.#pods.get(key)
    const workload = this.#workloads.get(key)
    if (facts === undefined || workload === undefined) return
    this.#pods.delete(key)
    this.#workloads.delete(key)
    this.#byLabel.delete(workload)
    this.#workloadsAt.delete(workload)
    this.#announce([key], [...this.#servicesSelecting(facts)].map(hostOf), facts.addresses)
  }

  setService(service: KubernetesObject): void {
    const facts = readService(service, this.#clusterDomain)
    const before = this.#services.get(facts.entry.host)
    if (before !== undefined && isDeepStrictEqual(before.facts, facts)) return
    this.#replaceService(facts.entry.host, before, facts)
  }

  deleteService(namespace: string, name: string): void {
    const host = serviceHost(name, namespace, this.#clusterDomain)
    const before = this.#services.get(host)
    if (before !== undefined) this.#replaceService(host, before, undefined)
  }

  #replaceService(host: string, before: FiledService | undefined, facts: ServiceFacts | undefined): void {
    const touched = new Set<string>()
    const collect = (entry: MeshServiceEntry): void => {
      for (const { key } of this.behind(entry)) touched.add(key)
    }
    if (before !== undefined) {
      collect(before.facts.entry)
      if (before.facts.entry.selector !== undefined) this.#bySelector.delete(before)
      this.#services.delete(host)
      this.#entries.delete(host)
      this.#servicesAt.delete(before.facts.entry)
    }
    if (facts !== undefined) {
      collect(facts.entry)
      const { namespace, selector } = facts.entry
      const filed = { facts, namespace, selector: selector ?? {} }
      if (selector !== undefined) this.#bySelector.add(filed)
      this.#services.set(host, filed)
      this.#entries.set(host, facts.entry)
      this.#servicesAt.add(facts.entry)
    }
    const addresses = [before?.facts, facts].flatMap(known => known?.entry.addresses ?? [])
    this.#reviseAndAnnounce(host, touched, addresses)
  }

  /** Ports and their names depend on Services, so the workloads behind a changed Service may have changed too. */
  #reviseAndAnnounce(host: string, workloads: ReadonlySet<string>, ofService: readonly string[]): void {
    const revised: string[] = []
    const hosts = [host]
    const addresses = [...ofService]
    for (const key of workloads) {
      const facts = this.#pods.get(key)
      const workload = this.#workloads.get(key)
      if (facts === undefined || workload === undefined) continue
      const services = [...this.#servicesSelecting(facts)]
      const after = workloadOf(facts, services)
      if (isDeepStrictEqual(after, workload)) continue
      this.#file(after)
      revised.push(key)
      addresses.push(...after.addresses)
      // The workload is also an endpoint of other Services, and its protocol may have changed there.
      hosts.push(...services.map(hostOf))
    }
    this.#announce(revised, hosts, addresses)
  }

  #servicesSelecting({ namespace, labels }: PodFacts): Iterable<FiledService> {
    return this.#bySelector.matching(namespace, labels)
  }

  #file(workload: MeshWorkload): void {
    const before = this.#workloads.get(workload.key)
    this.#byLabel.set(workload, before)
    if (before !== undefined) this.#workloadsAt.delete(before)
    this.#workloadsAt.add(workload)
    this.#workloads.set(workload.key, workload)
  }

  #announce(workloads: readonly string[], services: readonly string[], addresses: readonly string[]): void {
    this.#changes.emit({
      workloads: new Set(workloads),
      services: new Set(services),
      addresses: new Set(addresses),
    })
  }
}

/** Field by field: with `...facts` the engine created a new hidden class for each copy, larger than the copy itself. */
function workloadOf(facts: PodFacts, services: readonly FiledService[]): MeshWorkload {
  return {
    key: facts.key,
    namespace: facts.namespace,
    name: facts.name,
    uid: facts.uid,
    labels: facts.labels,
    serviceAccount: facts.serviceAccount,
    addresses: facts.addresses,
    ready: facts.ready,
    started: facts.started,
    leaving: facts.leaving,
    owners: facts.owners,
    proxied: facts.proxied,
    enforcer: facts.enforcer,
    bypass: facts.bypass,
    probes: facts.probes,
    services: services.map(service => service.facts.entry.name).sort(),
    ports: workloadPorts(facts.ports, services.map(factsOf)),
    udpPorts: ascending([...facts.udpPorts, ...services.flatMap(service => service.facts.udpTargets)]),
    udp: facts.udp,
  }
}

function factsOf({ facts }: FiledService): ServiceFacts {
  return facts
}

function hostOf({ facts }: FiledService): string {
  return facts.entry.host
}
