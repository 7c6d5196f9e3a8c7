// SPDX-License-Identifier: Apache-2.0
// Pods and Services for tests, and a reflector that a test controls.

import type { Change, Reflected } from "../../kubernetes/reflector.js"
import { type KubernetesObject, objectKey } from "../../kubernetes/resource-type.js"

interface PodSketch {
  readonly spec?: object
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly serviceAccount?: string
  /** Container ports; none by default. */
  readonly ports?: readonly object[]
  readonly proxied?: boolean
  readonly status?: object
  readonly metadata?: object
}

export function podOf(key: string, sketch: PodSketch = {}): KubernetesObject {
  const [namespace = "", name = ""] = key.split("/")
  const app = { name: "app", ports: sketch.ports ?? [] }
  const xserver = { name: "merlon-xserver", ports: [{ containerPort: 15_080 }, { containerPort: 15_021 }] }
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid: `uid-${key}`,
      labels: sketch.labels ?? {},
      annotations: sketch.annotations ?? {},
      ...sketch.metadata,
    },
    spec: {
      ...(sketch.serviceAccount === undefined ? {} : { serviceAccountName: sketch.serviceAccount }),
      containers: sketch.proxied === false ? [app] : [xserver, app],
      ...sketch.spec,
    },
    status: sketch.status ?? { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  }
}

export function serviceOf(
  key: string,
  selector: { readonly [key: string]: string } | undefined,
  ports: readonly object[],
  metadata: object = {},
  spec: object = {},
): KubernetesObject {
  const [namespace = "", name = ""] = key.split("/")
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, ...metadata },
    spec: { selector, ports, ...spec },
  }
}

export class ManualReflected<T extends KubernetesObject> implements Reflected<T> {
  readonly items = new Map<string, T>()
  readonly synced: Promise<void>
  readonly #listeners = new Set<(change: Change<T>) => void>()
  #sync: () => void = () => {}

  constructor(items: Iterable<T> = [], { synced = true } = {}) {
    for (const item of items) this.items.set(objectKey(item), item)
    this.synced = synced ? Promise.resolve() : new Promise(resolve => (this.#sync = resolve))
  }

  sync(): void {
    this.#sync()
  }

  set(object: T): void {
    const key = objectKey(object)
    const previous = this.items.get(key)
    this.items.set(key, object)
    this.#notify({ key, object, previous })
  }

  delete(key: string): void {
    const previous = this.items.get(key)
    if (this.items.delete(key)) this.#notify({ key, object: undefined, previous })
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(change: Change<T>): void {
    for (const listener of [...this.#listeners]) listener(change)
  }
}
