// SPDX-License-Identifier: Apache-2.0
// A Kubernetes API in memory, with what our writers need: optimistic concurrency, merge and JSON patch of the whole
// object or its status, 404 and 409. It records all writes, which most tests check.

import {
  ApiError,
  type KubernetesClient,
  type ListOptions,
  type PatchOptions,
  type WatchEvent,
} from "../../kubernetes/client.js"
import type { KubernetesObject, ResourceType } from "../../kubernetes/resource-type.js"

export interface Write {
  readonly verb: "create" | "replace" | "patch" | "delete"
  readonly plural: string
  readonly key: string
  readonly body: unknown
}

type Json = Record<string, unknown>

export class MemoryClient implements KubernetesClient {
  readonly objects = new Map<string, KubernetesObject>()
  readonly writes: Write[] = []
  /** Awaited before each write; throw an error here to make the write fail. */
  beforeWrite: (write: Write) => Promise<void> | void = () => undefined
  #version = 0

  put(type: ResourceType, object: KubernetesObject): KubernetesObject {
    const { name, namespace } = object.metadata
    const stored = {
      ...object,
      metadata: { uid: `uid-${name}`, ...object.metadata, resourceVersion: `${++this.#version}` },
    }
    this.objects.set(keyOf(type, name, namespace), stored)
    return stored
  }

  async get<T extends KubernetesObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    return this.objects.get(keyOf(type, name, namespace)) as T | undefined // the caller knows the kind
  }

  async list<T extends KubernetesObject>(type: ResourceType, { namespace, labelSelector }: ListOptions = {}) {
    const [label, value] = labelSelector?.split("=") ?? []
    const items = [...this.objects.entries()]
      .filter(([key]) => key.startsWith(`${type.plural}/`))
      .map(([, object]) => object as T) // the caller knows the kind
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .filter(({ metadata }) => label === undefined || metadata.labels?.[label] === value)
    return { items, resourceVersion: `${this.#version}` }
  }

  async create<T extends KubernetesObject>(type: ResourceType, object: T): Promise<T> {
    const { name, namespace } = object.metadata
    const key = await this.#write("create", type, name, namespace, object)
    if (this.objects.has(key)) throw new ApiError(409, "AlreadyExists", `${key} already exists`)
    return this.put(type, object) as T
  }

  async replace<T extends KubernetesObject>(type: ResourceType, object: T): Promise<T> {
    const { name, namespace, resourceVersion } = object.metadata
    const key = await this.#write("replace", type, name, namespace, object)
    const stored = this.#existing(key)
    if (stored.metadata.resourceVersion !== resourceVersion) throw new ApiError(409, "Conflict", `${key} has changed`)
    return this.put(type, object) as T
  }

  async patch<T extends KubernetesObject>(
    type: ResourceType,
    name: string,
    body: unknown,
    { namespace, type: patchType = "merge" }: PatchOptions = {},
  ): Promise<T> {
    const key = await this.#write("patch", type, name, namespace, body)
    const stored = this.#existing(key)
    const patched = patchType === "json" ? jsonPatch(stored, body) : merge(stored, body)
    return this.put(type, patched as KubernetesObject) as T
  }

  async delete(type: ResourceType, name: string, namespace?: string): Promise<boolean> {
    const key = await this.#write("delete", type, name, namespace, undefined)
    return this.objects.delete(key)
  }

  createSubresource<T>(): Promise<T> {
    return Promise.reject(new ApiError(405, "MethodNotAllowed", "no subresources here"))
  }

  async *watch<T extends KubernetesObject>(): AsyncIterable<WatchEvent<T>> {
    yield* []
    throw new ApiError(405, "MethodNotAllowed", "nothing to watch here")
  }

  async #write(verb: Write["verb"], type: ResourceType, name: string, namespace: string | undefined, body: unknown) {
    const key = keyOf(type, name, namespace)
    const write = { verb, plural: type.plural, key, body }
    this.writes.push(write)
    await this.beforeWrite(write)
    return key
  }

  #existing(key: string): KubernetesObject {
    const stored = this.objects.get(key)
    if (stored === undefined) throw new ApiError(404, "NotFound", `${key} not found`)
    return stored
  }
}

function keyOf({ plural }: ResourceType, name: string, namespace?: string): string {
  return `${plural}/${namespace === undefined ? "" : `${namespace}/`}${name}`
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Json = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merge(result[name], value)
  }
  return result
}

/** RFC 6902, only `test` and `add` of members. */
function jsonPatch(target: KubernetesObject, body: unknown): unknown {
  const copy = structuredClone(target) as unknown as Json
  for (const { op, path, value } of body as { op: string; path: string; value: unknown }[]) {
    const steps = path.split("/").slice(1)
    const last = steps.pop() ?? ""
    const parent = steps.reduce<Json>((at, step) => at[step] as Json, copy)
    if (op === "test" && JSON.stringify(parent[last]) !== JSON.stringify(value)) {
      throw new ApiError(422, "Invalid", `the test of ${path} failed`)
    }
    if (op === "add") parent[last] = value
  }
  return copy
}
