// SPDX-License-Identifier: Apache-2.0
// Stores histories: one ConfigMap per namespace, in the root namespace, where only the mesh's operators and the control
// plane can write. It is deleted with the namespace it describes, and with the control plane. Every replica writes; the
// resourceVersion prevents lost updates.

import type { MeshNames } from "@merlon/policy/mesh"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type Owners, ownedBy } from "../kubernetes/owner-reference.js"
import { CONFIG_MAPS, type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { objectOf, textOf } from "../registry/foreign.js"
import {
  EMPTY_HISTORY,
  type NamespaceHistory,
  type RecordedChange,
  readHistory,
  withChanges,
  writeHistory,
} from "./namespace-history.js"

export interface HistoryStoreOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  /** Entries kept for each namespace; 0 keeps no history. */
  readonly maxEntries: number
  /** Owners of the ConfigMaps, which are deleted with them. */
  readonly owners: Owners
  readonly warn: (message: string) => void
  readonly now: () => number
}

/** Limit for entries and compressed documents of one namespace. */
const MAX_BYTES = 256 << 10
const ATTEMPTS = 8

export function historyLabel({ domain }: MeshNames): string {
  return `${domain}/policy-history`
}

export class HistoryStore {
  readonly #options: HistoryStoreOptions

  constructor(options: HistoryStoreOptions) {
    this.#options = options
  }

  get maxEntries(): number {
    return this.#options.maxEntries
  }

  get isOn(): boolean {
    return this.#options.maxEntries > 0
  }

  async read(namespace: string): Promise<NamespaceHistory> {
    return this.#readable(namespace, await this.#get(namespace))
  }

  /** Throws if the changes cannot be stored. */
  async append(namespace: string, changes: readonly RecordedChange[]): Promise<void> {
    const { client, maxEntries } = this.#options
    const bounds = { entries: maxEntries, bytes: MAX_BYTES }
    for (let attempt = 1; ; attempt++) {
      const uid = await this.#uidOf(namespace)
      const stored = await this.#get(namespace)
      const earlier = objectOf(stored?.data).namespaceUid === uid ? this.#readable(namespace, stored) : EMPTY_HISTORY
      const data = { namespaceUid: uid, ...writeHistory(withChanges(earlier, changes, bounds)) }
      try {
        if (stored !== undefined) await client.replace(CONFIG_MAPS, { ...stored, data })
        else await client.create(CONFIG_MAPS, await this.#objectOf(this.#nameOf(namespace), "namespace", data))
        return
      } catch (error) {
        // Another replica has written in between.
        const isConflict = error instanceof ApiError && error.code === 409
        if (!isConflict || attempt >= ATTEMPTS) throw error
      }
    }
  }

  /** Stores since when changes are recorded; deletes it if recording is off. */
  async begin(): Promise<void> {
    const { client, names, now } = this.#options
    if (!this.isOn) {
      await client.delete(CONFIG_MAPS, this.#marker, names.rootNamespace)
      return
    }
    const data = { since: new Date(now()).toISOString() }
    const marker = await this.#objectOf(this.#marker, "start", data)
    await client.create(CONFIG_MAPS, marker).catch((error: unknown) => {
      // Exists already, from an earlier start or another replica.
      if (!(error instanceof ApiError && error.code === 409)) throw error
    })
  }

  /** Deletes the history of a deleted namespace: a new one of the same name has its own history. */
  async forget(namespace: string): Promise<void> {
    await this.#options.client.delete(CONFIG_MAPS, this.#nameOf(namespace), this.#options.names.rootNamespace)
  }

  /** Since when changes are recorded, in milliseconds; undefined if they are not. */
  async since(): Promise<number | undefined> {
    const { client, names } = this.#options
    if (!this.isOn) return undefined
    const marker = await client.get(CONFIG_MAPS, this.#marker, names.rootNamespace)
    const since = Date.parse(textOf(objectOf(marker?.data).since) ?? "")
    return Number.isFinite(since) ? since : undefined
  }

  get #marker(): string {
    return `${this.#options.names.mesh}-history`
  }

  #nameOf(namespace: string): string {
    return `${this.#marker}-${namespace}`
  }

  #readable(namespace: string, stored: KubernetesObject | undefined): NamespaceHistory {
    if (stored === undefined) return EMPTY_HISTORY
    const history = readHistory(stored.data)
    // Starts again rather than failing: a user who could write this could also have deleted it. The new chain starts
    // with entry 1, which shows the loss.
    if (history === undefined)
      this.#options.warn(`the history of namespace \`${namespace}\` cannot be read; starting a new one`)
    return history ?? EMPTY_HISTORY
  }

  #get(namespace: string): Promise<KubernetesObject | undefined> {
    return this.#options.client.get(CONFIG_MAPS, this.#nameOf(namespace), this.#options.names.rootNamespace)
  }

  async #uidOf(namespace: string): Promise<string> {
    const uid = (await this.#options.client.get(NAMESPACES, namespace))?.metadata.uid
    if (uid === undefined) throw new Error(`the namespace \`${namespace}\` is gone`)
    return uid
  }

  async #objectOf(name: string, what: "start" | "namespace", data: object): Promise<KubernetesObject> {
    const { names, owners } = this.#options
    return {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name,
        namespace: names.rootNamespace,
        labels: { [historyLabel(names)]: what },
        ...ownedBy(await owners()),
      },
      data,
    }
  }
}
