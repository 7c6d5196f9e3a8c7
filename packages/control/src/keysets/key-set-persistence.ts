// SPDX-License-Identifier: Apache-2.0
// Stores the last good keys in the cluster, so that a restart while an issuer is down changes nothing: one ConfigMap
// per key set in the root namespace. Every replica reads them at startup; only the leader writes, and only changes.
// They are validated like an issuer's response, because other clients can write ConfigMaps too.

import { createHash } from "node:crypto"
import type { MeshNames } from "@merlon/policy/mesh"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { CONFIG_MAPS, type KubernetesObject } from "../kubernetes/resource-type.js"
import { type Clock, systemClock } from "../observe/clock.js"
import { oneLine } from "../observe/one-line.js"
import { type GoodKeys, goodKeys } from "./fetched-issuer.js"

const FIRST_RETRY = 1_000
const LAST_RETRY = 5 * 60_000

interface KeysConfigMap extends KubernetesObject {
  readonly data?: { readonly [key: string]: unknown }
}

/** The part of `FetchedKeySets` that persistence needs. */
export interface PersistedKeySets {
  readonly needed: ReadonlySet<string> | undefined
  good(): Iterable<readonly [id: string, good: GoodKeys]>
  onChange(listener: (id: string, change: { readonly jwks: boolean }) => void): () => void
}

export interface KeySetPersistenceOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  readonly isLeader: () => boolean
  readonly warn: (message: string) => void
  readonly clock?: Clock
}

export class KeySetPersistence {
  readonly #options: KeySetPersistenceOptions
  readonly #clock: Clock
  readonly #label: string
  #keys: PersistedKeySets | undefined
  /** Key-set text by ConfigMap name, as last known to be stored; undefined until the lease holder has read it. */
  #stored: Map<string, { readonly id: string; readonly jwks: string }> | undefined
  #running = false
  #again = false
  #failures = 0
  #cancelRetry: (() => void) | undefined
  #stopped = false

  constructor(options: KeySetPersistenceOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#label = `${options.names.domain}/key-set`
  }

  /** Never fails: without stored keys the issuers are fetched as if for the first time. */
  async load(): Promise<ReadonlyMap<string, GoodKeys>> {
    const kept = new Map<string, GoodKeys>()
    try {
      for (const object of await this.#list()) {
        const read = this.#read(object)
        if (typeof read === "string") this.#options.warn(`ConfigMap \`${object.metadata.name}\` is ignored: ${read}`)
        else kept.set(read.id, read.good)
      }
    } catch (error) {
      this.#options.warn(`the stored keys cannot be read: ${oneLine(String(error))}`)
    }
    return kept
  }

  /** Starts to persist these keys. */
  follow(keys: PersistedKeySets): void {
    this.#keys = keys
    keys.onChange((_, { jwks }) => {
      if (jwks) this.#reconcile()
    })
    this.#reconcile()
  }

  /** Call it when the lease was acquired or lost. */
  leadershipChanged(): void {
    // Another replica may have written in between.
    this.#stored = undefined
    this.#reconcile()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelRetry?.()
  }

  #reconcile(): void {
    if (this.#running) {
      this.#again = true
      return
    }
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#running = true
    this.#again = false
    this.#write()
      .then(
        () => {
          this.#failures = 0
        },
        (error: unknown) => this.#retry(error),
      )
      .finally(() => {
        this.#running = false
        if (this.#again) this.#reconcile()
      })
      .catch(() => undefined)
  }

  #retry(error: unknown): void {
    this.#stored = undefined
    if (this.#stopped) return
    const wait = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    this.#options.warn(`the fetched keys could not be stored: ${oneLine(String(error))}`)
    this.#cancelRetry = this.#clock.after(wait, () => this.#reconcile())
  }

  get #mayWrite(): boolean {
    return !this.#stopped && this.#options.isLeader()
  }

  async #write(): Promise<void> {
    const needed = this.#keys?.needed
    if (this.#keys === undefined || needed === undefined || !this.#mayWrite) return
    const stored = this.#stored ?? (await this.#lookAtStored())
    this.#stored = stored
    for (const [id, good] of this.#keys.good()) {
      const name = this.#nameOf(id)
      const known = stored.get(name)
      if (known?.id === id && known.jwks === good.jwks) continue
      if (!this.#mayWrite) return
      await this.#put(name, id, good, known !== undefined)
      stored.set(name, { id, jwks: good.jwks })
    }
    for (const [name, { id }] of stored) {
      if (needed.has(id) && name === this.#nameOf(id)) continue
      if (!this.#mayWrite) return
      await this.#options.client.delete(CONFIG_MAPS, name, this.#options.names.rootNamespace)
      stored.delete(name)
    }
  }

  async #lookAtStored(): Promise<Map<string, { readonly id: string; readonly jwks: string }>> {
    const objects = await this.#list()
    return new Map(
      objects.map(({ metadata, data }) => [metadata.name, { id: textOf(data?.id), jwks: textOf(data?.jwks) }]),
    )
  }

  async #put(name: string, id: string, { jwks, fetchedAt }: GoodKeys, exists: boolean): Promise<void> {
    const { client, names } = this.#options
    const namespace = names.rootNamespace
    const labels = { [this.#label]: "true" }
    const data = { id, jwks, fetchedAt: new Date(fetchedAt).toISOString() }
    if (!exists) {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, data }
      try {
        await client.create(CONFIG_MAPS, object)
        return
      } catch (error) {
        // An object without our label has this name, so we take it over.
        if (!(error instanceof ApiError && error.code === 409)) throw error
      }
    }
    await client.patch(CONFIG_MAPS, name, { metadata: { labels }, data }, { namespace, type: "merge" })
  }

  async #list(): Promise<readonly KeysConfigMap[]> {
    const { client, names } = this.#options
    const options = { namespace: names.rootNamespace, labelSelector: `${this.#label}=true` }
    return (await client.list<KeysConfigMap>(CONFIG_MAPS, options)).items
  }

  #read({ metadata, data }: KeysConfigMap): { readonly id: string; readonly good: GoodKeys } | string {
    const [id, jwks, written] = [textOf(data?.id), textOf(data?.jwks), Date.parse(textOf(data?.fetchedAt))]
    // Fails closed: with keys under another issuer's name, their holder could impersonate that issuer.
    if (metadata.name !== this.#nameOf(id)) return "its `id` does not match its name"
    if (Number.isNaN(written)) return "its `fetchedAt` is not a time"
    const good = goodKeys(jwks, Math.min(written, this.#clock.now()))
    return good === undefined ? "its `jwks` is not a usable key set" : { id, good }
  }

  #nameOf(id: string): string {
    const hash = createHash("sha256").update(id).digest("hex").slice(0, 20)
    return `${this.#options.names.mesh}-keys-${hash}`
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : ""
}
