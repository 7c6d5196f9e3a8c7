// SPDX-License-Identifier: Apache-2.0
// Stores histories: one ConfigMap per namespace, in the root namespace, where only the mesh's operators and the control
// plane can write. A second one keeps the certificates of the newest entries. Both are deleted with the namespace they
// describe, and with the control plane. Every replica writes; the resourceVersion prevents lost updates.

import type { MeshNames } from "@merlon/policy/mesh"
import { messageOf } from "@merlon/xds/runtime"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type Owners, ownedBy } from "../kubernetes/owner-reference.js"
import { CONFIG_MAPS, type KubernetesObject, NAMESPACES } from "../kubernetes/resource-type.js"
import { objectOf, textOf } from "../registry/foreign.js"
import { type StoredEvidence, unpackedEvidence } from "./evidence.js"
import {
  EMPTY_HISTORY,
  type NamespaceHistory,
  type RecordedChange,
  readHistory,
  storedEvidence,
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
/** Limit for compressed certificates of one namespace. A ConfigMap has at most 1 MiB. */
const MAX_EVIDENCE_BYTES = 512 << 10
const ATTEMPTS = 8

type Contents = "start" | "namespace" | "certificates"

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
    return this.#readable(namespace, await this.#get(this.#nameOf(namespace)))
  }

  /** Throws if the changes cannot be stored. */
  async append(namespace: string, changes: readonly RecordedChange[]): Promise<void> {
    const bounds = { entries: this.#options.maxEntries, bytes: MAX_BYTES }
    await this.#update(namespace, this.#nameOf(namespace), "namespace", async stored =>
      writeHistory(
        withChanges(stored === undefined ? EMPTY_HISTORY : this.#readable(namespace, stored), changes, bounds),
      ),
    )
    const fresh = changes.flatMap(({ facts: { certificate }, evidence }) =>
      evidence !== undefined && certificate !== undefined && "digest" in certificate
        ? [[certificate.digest, evidence] as const]
        : [],
    )
    if (fresh.length === 0) return
    // The entries are stored, so this does not fail: they hold the digests, and certificates can be made anew.
    await this.#update(namespace, this.#evidenceNameOf(namespace), "certificates", async stored => {
      const all = new Map([...evidenceIn(stored), ...fresh])
      // Read after the certificates, whose entries were stored before them.
      const { entries } = await this.read(namespace)
      const kept = storedEvidence(entries, all, MAX_EVIDENCE_BYTES)
      return { certificates: JSON.stringify(Object.fromEntries(kept)) }
    }).catch((error: unknown) =>
      this.#options.warn(`certificates of namespace \`${namespace}\` are not kept: ${messageOf(error)}`),
    )
  }

  /** The certificate with this digest and its policies, unchecked; undefined if it is not kept. */
  async evidence(namespace: string, digest: string): Promise<StoredEvidence | undefined> {
    const packed = evidenceIn(await this.#get(this.#evidenceNameOf(namespace))).get(digest)
    return packed === undefined ? undefined : unpackedEvidence(packed)
  }

  /** `dataOf` gets the stored object if it belongs to this namespace, not to an earlier one of the same name. */
  async #update(
    namespace: string,
    name: string,
    what: Contents,
    dataOf: (stored: KubernetesObject | undefined) => Promise<object>,
  ): Promise<void> {
    const { client } = this.#options
    for (let attempt = 1; ; attempt++) {
      const uid = await this.#uidOf(namespace)
      const stored = await this.#get(name)
      const isOwn = objectOf(stored?.data).namespaceUid === uid
      const data = { namespaceUid: uid, ...(await dataOf(isOwn ? stored : undefined)) }
      try {
        if (stored !== undefined) await client.replace(CONFIG_MAPS, { ...stored, data })
        else await client.create(CONFIG_MAPS, await this.#objectOf(name, what, data))
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
    const { client, names } = this.#options
    for (const name of [this.#nameOf(namespace), this.#evidenceNameOf(namespace)])
      await client.delete(CONFIG_MAPS, name, names.rootNamespace)
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

  /** No namespace has a dot in its name, so this is no other namespace's history. */
  #evidenceNameOf(namespace: string): string {
    return `${this.#nameOf(namespace)}.certificates`
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

  #get(name: string): Promise<KubernetesObject | undefined> {
    return this.#options.client.get(CONFIG_MAPS, name, this.#options.names.rootNamespace)
  }

  async #uidOf(namespace: string): Promise<string> {
    const uid = (await this.#options.client.get(NAMESPACES, namespace))?.metadata.uid
    if (uid === undefined) throw new Error(`the namespace \`${namespace}\` is gone`)
    return uid
  }

  async #objectOf(name: string, what: Contents, data: object): Promise<KubernetesObject> {
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

/** Compressed certificates by digest; none if the data has another format. */
function evidenceIn(stored: KubernetesObject | undefined): ReadonlyMap<string, string> {
  const { certificates } = objectOf(stored?.data)
  try {
    const all = Object.entries(objectOf(JSON.parse(textOf(certificates) ?? "{}")))
    return new Map(all.flatMap(([digest, text]) => (typeof text === "string" ? [[digest, text]] : [])))
  } catch {
    return new Map()
  }
}
