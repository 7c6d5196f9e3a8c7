// SPDX-License-Identifier: Apache-2.0
// An in-memory API for tests: stores objects, applies merge patches, feeds a reflector, and fails on request.

import { ApiError, type KubernetesClient } from "../../kubernetes/client.js"
import { type KubernetesObject, objectKey, type ResourceType } from "../../kubernetes/resource-type.js"
import { ManualReflected } from "../../registry/testing/objects.js"

export class ManualClient {
  readonly reflected = new ManualReflected<KubernetesObject>()
  /** Every attempted write. */
  readonly writes: string[] = []
  /** Writes fail with this error until it is undefined. */
  failure: Error | undefined
  /** Delays writes until it resolves. */
  gate: Promise<void> = Promise.resolve()

  get client(): KubernetesClient {
    // The tested code uses no other calls; a call to another method fails by name.
    return this as unknown as KubernetesClient
  }

  async get(_: ResourceType, name: string, namespace?: string): Promise<KubernetesObject | undefined> {
    return this.reflected.items.get(`${namespace}/${name}`)
  }

  async patch(type: ResourceType, name: string, body: unknown, options: { namespace?: string } = {}): Promise<unknown> {
    const key = `${options.namespace}/${name}`
    await this.#admit(`patch ${type.plural} ${key}`)
    const before = this.reflected.items.get(key)
    if (before === undefined) throw new ApiError(404, "NotFound", `${key} not found`)
    const after = mergePatch(before, body) as KubernetesObject // a merge patch of an object is an object
    this.reflected.set(after)
    return after
  }

  async create(type: ResourceType, object: KubernetesObject): Promise<unknown> {
    await this.#admit(`create ${type.plural} ${objectKey(object)}`)
    this.reflected.set(object)
    return object
  }

  async delete(type: ResourceType, name: string, namespace?: string): Promise<boolean> {
    await this.#admit(`delete ${type.plural} ${namespace}/${name}`)
    this.reflected.delete(`${namespace}/${name}`)
    return true
  }

  async #admit(write: string): Promise<void> {
    this.writes.push(write)
    await this.gate
    if (this.failure !== undefined) throw this.failure
  }
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> =
    typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = mergePatch(result[name], value)
  }
  return result
}
