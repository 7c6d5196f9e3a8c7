// SPDX-License-Identifier: Apache-2.0
// The Kubernetes API in memory, with copies that follow it like reflectors: delayed and in order.

import type { Change, Reflected } from "../../kubernetes/reflector.js"
import { type KubernetesObject, objectKey, type ResourceType } from "../../kubernetes/resource-type.js"
import { MemoryClient } from "../../observe/testing/memory-client.js"

export class MemoryCluster extends MemoryClient {
  readonly #watchers = new Set<(type: ResourceType, key: string, object: KubernetesObject | undefined) => void>()
  #held: (() => void)[] | undefined

  override put(type: ResourceType, object: KubernetesObject): KubernetesObject {
    const stored = super.put(type, object)
    this.#notify(type, objectKey(stored), stored)
    return stored
  }

  override async delete(type: ResourceType, name: string, namespace?: string): Promise<boolean> {
    const existed = await super.delete(type, name, namespace)
    if (existed) this.#notify(type, namespace === undefined ? name : `${namespace}/${name}`, undefined)
    return existed
  }

  /** Copies receive no changes until `release`. */
  hold(): void {
    this.#held ??= []
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const notify of held) notify()
  }

  reflect(type: ResourceType, keep: (object: KubernetesObject) => boolean = () => true): Reflected<KubernetesObject> {
    const items = new Map<string, KubernetesObject>()
    const listeners = new Set<(change: Change<KubernetesObject>) => void>()
    for (const [key, object] of this.objects) {
      if (key.startsWith(`${type.plural}/`) && keep(object)) items.set(objectKey(object), object)
    }
    this.#watchers.add((changed, key, object) => {
      if (changed.plural !== type.plural || (object !== undefined && !keep(object))) return
      const previous = items.get(key)
      if (object === undefined) items.delete(key)
      else items.set(key, object)
      for (const listener of [...listeners]) listener({ key, object, previous })
    })
    return {
      items,
      synced: Promise.resolve(),
      onChange(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }

  #notify(type: ResourceType, key: string, object: KubernetesObject | undefined): void {
    const notify = (): void => {
      for (const watcher of this.#watchers) watcher(type, key, object)
    }
    if (this.#held === undefined) queueMicrotask(notify)
    else this.#held.push(notify)
  }
}
