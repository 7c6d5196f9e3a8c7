// SPDX-License-Identifier: Apache-2.0
// Feeds the reflectors' changes of Pods and Services into the registry.

import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { Registry } from "./registry.js"

/** Decides what happens when a Service is deleted. */
export interface ServiceRemoval {
  stored(namespace: string, name: string): void
  deleted(namespace: string, name: string): void
}

export interface RegistrySources {
  readonly pods: Reflected<KubernetesObject>
  readonly services: Reflected<KubernetesObject>
}

/** `synced` resolves once the registry has everything from the first lists. */
export function feedRegistry(
  registry: Registry,
  { pods, services }: RegistrySources,
  removal: ServiceRemoval = {
    stored: () => undefined,
    deleted: (namespace, name) => registry.deleteService(namespace, name),
  },
): { readonly synced: Promise<void>; stop(): void } {
  const setPod = (pod: KubernetesObject): void => registry.setPod(pod)
  const setService = (service: KubernetesObject): void => {
    removal.stored(service.metadata.namespace ?? "default", service.metadata.name)
    registry.setService(service)
  }
  const stops = [
    follow(services, setService, (namespace, name) => removal.deleted(namespace, name)),
    follow(pods, setPod, (namespace, name) => registry.deletePod(namespace, name)),
  ]
  return {
    synced: Promise.all([pods.synced, services.synced]).then(() => {}),
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}

function follow(
  reflected: Reflected<KubernetesObject>,
  set: (object: KubernetesObject) => void,
  remove: (namespace: string, name: string) => void,
): () => void {
  const stop = reflected.onChange(({ key, object }) => {
    const [namespace = "", name = ""] = key.split("/")
    if (object !== undefined) set(object)
    else remove(namespace, name)
  })
  for (const object of reflected.items.values()) set(object)
  return stop
}
