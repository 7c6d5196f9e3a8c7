// SPDX-License-Identifier: Apache-2.0
// An in-memory directory and documents that a test fills.

import type { Change } from "../../kubernetes/reflector.js"
import type { Documents } from "../../policies/documents-in-force.js"
import type { AtAddress, DirectoryChange, MeshDirectory, MeshServiceEntry } from "../../registry/mesh-directory.js"
import type { MeshWorkload } from "../../registry/mesh-workload.js"

export class MemoryDirectory implements MeshDirectory {
  readonly workloads = new Map<string, MeshWorkload>()
  readonly services = new Map<string, MeshServiceEntry>()
  readonly #listeners = new Set<(change: DirectoryChange) => void>()

  onChange(listener: (change: DirectoryChange) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  *select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<MeshWorkload> {
    for (const workload of this.workloads.values()) {
      if (namespace !== undefined && workload.namespace !== namespace) continue
      if (Object.entries(labels).every(([key, value]) => workload.labels[key] === value)) yield workload
    }
  }

  *behind({ selector, namespace }: MeshServiceEntry): Iterable<MeshWorkload> {
    if (selector !== undefined) yield* this.select(selector, namespace)
  }

  at(address: string): AtAddress {
    const here = (item: { readonly addresses: readonly string[] }) => item.addresses.includes(address)
    return {
      services: [...this.services.values()].filter(here),
      workloads: [...this.workloads.values()].filter(here),
    }
  }

  setWorkload(key: string, workload: MeshWorkload | undefined): void {
    const before = this.#hosts(key)
    const addresses = new Set([...(this.workloads.get(key)?.addresses ?? []), ...(workload?.addresses ?? [])])
    if (workload === undefined) this.workloads.delete(key)
    else this.workloads.set(key, workload)
    this.#notify({ workloads: new Set([key]), services: new Set([...before, ...this.#hosts(key)]), addresses })
  }

  setService(service: MeshServiceEntry): void {
    const addresses = new Set([...(this.services.get(service.host)?.addresses ?? []), ...service.addresses])
    this.services.set(service.host, service)
    this.#notify({ workloads: new Set(), services: new Set([service.host]), addresses })
  }

  removeService(host: string): void {
    const addresses = new Set(this.services.get(host)?.addresses)
    this.services.delete(host)
    this.#notify({ workloads: new Set(), services: new Set([host]), addresses })
  }

  #hosts(key: string): readonly string[] {
    return [...this.services.values()]
      .filter(service => [...this.behind(service)].some(workload => workload.key === key))
      .map(service => service.host)
  }

  #notify(change: DirectoryChange): void {
    for (const listener of [...this.#listeners]) listener(change)
  }
}

export class MemoryDocuments<T extends { readonly metadata: { readonly namespace: string; readonly name: string } }>
  implements Documents<T>
{
  readonly items = new Map<string, T>()
  readonly #listeners = new Set<(change: Change<T>) => void>()

  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  set(object: T): void {
    this.#change(`${object.metadata.namespace}/${object.metadata.name}`, object)
  }

  remove(key: string): void {
    this.#change(key, undefined)
  }

  #change(key: string, object: T | undefined): void {
    const previous = this.items.get(key)
    if (object === undefined) this.items.delete(key)
    else this.items.set(key, object)
    for (const listener of [...this.#listeners]) listener({ key, object, previous })
  }
}
