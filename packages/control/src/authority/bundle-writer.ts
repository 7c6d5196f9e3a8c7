// SPDX-License-Identifier: Apache-2.0
// Maintains the trust bundle in a ConfigMap of every namespace, where Pods mount it. One replica writes; a burst of
// changes is one pass over the namespaces that differ; manual edits are reverted.

import { type Log, messageOf } from "@merlon/xds/runtime"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type OwnerReference, ownedBy, ownerReferences, roleAsOwner } from "../kubernetes/owner-reference.js"
import type { Reflected } from "../kubernetes/reflector.js"
import { CONFIG_MAPS, type KubernetesObject } from "../kubernetes/resource-type.js"
import type { Clock } from "../observe/clock.js"
import { type AuthorityNames, BUNDLE_KEY } from "./authority-names.js"
import { readConfigMapData } from "./secret-data.js"

export interface BundleWriterOptions {
  readonly client: KubernetesClient
  readonly names: AuthorityNames
  readonly namespaces: Reflected<KubernetesObject>
  /** ConfigMaps with the bundle's name in all namespaces; others may be among them. */
  readonly configMaps: Reflected<KubernetesObject>
  readonly bundle: () => string
  readonly isLeader: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** Pause between two passes, also if another program keeps reverting our writes. */
const COALESCE_MS = 100
const RETRY_MS = 5_000
/** Checks again in case this replica has become the leader. */
const IDLE_MS = 30_000
const PARALLEL = 8

export class BundleWriter {
  readonly #options: BundleWriterOptions
  readonly #unsubscribe: readonly (() => void)[]
  /** Bundles that we wrote, by namespace, until the copy shows them. */
  readonly #written = new Map<string, string>()
  #cancel: () => void = () => undefined
  #owners: readonly OwnerReference[] = []
  #running = false
  #woken = false
  #closed = false

  constructor(options: BundleWriterOptions) {
    this.#options = options
    this.#unsubscribe = [
      options.namespaces.onChange(({ object, previous }) => {
        // A namespace of which only labels changed needs no bundle.
        if (object === undefined || previous === undefined) this.wake()
      }),
      options.configMaps.onChange(({ key, object }) => {
        const [namespace = "", name] = key.split("/")
        if (name !== options.names.bundleConfigMap) return
        const isOurs =
          object !== undefined && this.#isOwned(object) && this.#holds(object) === this.#written.get(namespace)
        if (!isOurs) this.#written.delete(namespace)
        this.wake()
      }),
    ]
    this.#later(0)
  }

  /** Call it when the bundle changed, or this replica became the leader. */
  wake(): void {
    this.#woken = true
    if (!this.#running) this.#later(COALESCE_MS)
  }

  close(): void {
    this.#closed = true
    this.#cancel()
    for (const stop of this.#unsubscribe) stop()
  }

  #later(milliseconds: number): void {
    this.#cancel()
    if (!this.#closed) this.#cancel = this.#options.clock.after(milliseconds, () => void this.#pass())
  }

  async #pass(): Promise<void> {
    if (this.#running) return
    this.#running = true
    this.#woken = false
    const failed = this.#options.isLeader() ? await this.#writeAll() : false
    this.#running = false
    this.#later(this.#woken ? COALESCE_MS : failed ? RETRY_MS : IDLE_MS)
  }

  /** Returns whether some namespace has to be retried. */
  async #writeAll(): Promise<boolean> {
    const owners = await roleAsOwner(this.#options.client, this.#options.names.ownRole)
    // The role was deleted, so we are being uninstalled: a bundle that is written now would be left behind.
    if (owners.length === 0 && this.#owners.length > 0) return true
    this.#owners = owners
    const bundle = this.#options.bundle()
    const waiting = [...this.#options.namespaces.items.values()].filter(namespace => this.#differs(namespace, bundle))
    let failed = false
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined && !this.#closed; next = waiting.pop()) {
        failed = !(await this.#write(next.metadata.name, bundle)) || failed
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    return failed
  }

  #differs({ metadata: { name, deletionTimestamp } }: KubernetesObject, bundle: string): boolean {
    // A namespace that is being deleted accepts no new objects.
    if (deletionTimestamp !== undefined) return false
    const copy = this.#options.configMaps.items.get(`${name}/${this.#options.names.bundleConfigMap}`)
    if (copy !== undefined && this.#holds(copy) === bundle && this.#isOwned(copy)) {
      this.#written.delete(name)
      return false
    }
    return this.#written.get(name) !== bundle
  }

  #holds(object: KubernetesObject): string | undefined {
    return readConfigMapData(object).get(BUNDLE_KEY)
  }

  /** A bundle of an earlier installation names a deleted role as owner, and would be deleted with it. */
  #isOwned({ metadata }: KubernetesObject): boolean {
    const owned = new Set(ownerReferences(metadata).map(({ uid }) => uid))
    return this.#owners.every(({ uid }) => owned.has(uid))
  }

  async #write(namespace: string, bundle: string): Promise<boolean> {
    const { client, names, configMaps, log } = this.#options
    const name = names.bundleConfigMap
    const patch = () =>
      client.patch(
        CONFIG_MAPS,
        name,
        { metadata: ownedBy(this.#owners), data: { [BUNDLE_KEY]: bundle } },
        { namespace, type: "merge" },
      )
    const create = () =>
      client.create(CONFIG_MAPS, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name,
          namespace,
          labels: { "app.kubernetes.io/managed-by": names.managedBy },
          ...ownedBy(this.#owners),
        },
        data: { [BUNDLE_KEY]: bundle },
      })
    try {
      if (configMaps.items.has(`${namespace}/${name}`)) await orElse(404, patch, create)
      else await orElse(409, create, patch)
      this.#written.set(namespace, bundle)
      return true
    } catch (error) {
      log.warn({ namespace, error: messageOf(error) }, "cannot write the trust bundle to a namespace")
      return false
    }
  }
}

/** Falls back to the other verb, since the copy may be slightly out of date. */
async function orElse(code: number, first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<void> {
  try {
    await first()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== code) throw error
    await second()
  }
}
