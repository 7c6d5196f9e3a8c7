// SPDX-License-Identifier: Apache-2.0
// The ledger of calls, stored in a few ConfigMaps. Every replica adds what its own proxies report, and each replica can
// answer for all of them. A batch is acknowledged once it is stored, and counts in answers at once.

import { createHash } from "node:crypto"
import { callKey, mergeCalls, type ObservedCall } from "@merlon/policy/ledger"
import type { MeshNames } from "@merlon/policy/mesh"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type Owners, ownedBy } from "../kubernetes/owner-reference.js"
import type { Reflected } from "../kubernetes/reflector.js"
import { CONFIG_MAPS, type KubernetesObject } from "../kubernetes/resource-type.js"
import { objectOf } from "../registry/foreign.js"
import { type Batch, LedgerShard, type RuleUse } from "./ledger-shard.js"
import { Traffic } from "./traffic.js"

export interface CallLedgerOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  /** ConfigMaps of the root namespace with the label of the ledger. */
  readonly stored: Reflected<KubernetesObject>
  /** Owners of the ConfigMaps, which are deleted with them. */
  readonly owners: Owners
  readonly warn: (message: string, error: unknown) => void
  /** Shortest time between two writes of one shard. */
  readonly paceMs?: number
  readonly now?: () => number
}

/** Milliseconds since the epoch. */
export interface ObservedSpan {
  /** Undefined if nothing is counted yet. */
  readonly since: number | undefined
  /** Undefined if no call was dropped. */
  readonly forgottenUntil: number | undefined
}

interface Waiting {
  readonly batch: Batch
  stored: () => void
}

interface Shard {
  /** By proxy: a proxy sends its next batch once this one is stored, and sends this one again if it is not. */
  readonly waiting: Map<string, Waiting>
  decoded: { readonly version: string; readonly shard: LedgerShard } | undefined
  timer: NodeJS.Timeout | undefined
  lastWrite: number
  writing: Promise<void>
}

const SHARDS = 4
const SOON_MS = 500
const PACE_MS = 10_000
const ATTEMPTS = 5
/** Proxies whose batch is not stored yet. Above this limit, proxies keep their batches and send them later. */
const MAX_WAITING = 5_000
const FIELD = "ledger"

export function ledgerLabel({ domain }: MeshNames): string {
  return `${domain}/call-ledger`
}

export class CallLedger {
  readonly #options: CallLedgerOptions
  readonly #paceMs: number
  readonly #now: () => number
  readonly #shards: readonly Shard[]
  /** Calls that proxies of this replica reported in the last hour. */
  readonly traffic: Traffic
  #stopped = false

  constructor(options: CallLedgerOptions) {
    this.#options = options
    this.#paceMs = options.paceMs ?? PACE_MS
    this.#now = options.now ?? Date.now
    this.traffic = new Traffic(this.#now)
    this.#shards = Array.from({ length: SHARDS }, () => ({
      waiting: new Map(),
      decoded: undefined,
      timer: undefined,
      lastWrite: Number.NEGATIVE_INFINITY,
      writing: Promise.resolve(),
    }))
  }

  /** Calls `stored` once the batch is stored, also if it was stored before. */
  take(batch: Batch, stored: () => void): void {
    const index = shardOf(batch.workload)
    const shard = this.#shards[index]
    if (shard === undefined) return
    const known = shard.waiting.get(batch.proxy)
    if (known !== undefined) {
      // The same batch over a new stream: the current sender gets the reply. Any other batch has to wait in the queue.
      if (known.batch.run === batch.run && known.batch.sequence === batch.sequence) known.stored = stored
      return
    }
    if (this.#read(index).has(batch)) {
      stored()
      return
    }
    if (shard.waiting.size >= MAX_WAITING) return
    shard.waiting.set(batch.proxy, { batch, stored })
    this.traffic.note(batch.calls)
    this.#schedule(index)
  }

  /** Calls of all workloads, both stored and waiting to be stored. */
  calls(): readonly ObservedCall[] {
    const merged = new Map<string, ObservedCall>()
    for (const call of this.#everything(
      shard => shard.calls(),
      ({ calls }) => calls,
    )) {
      const key = callKey(call)
      const known = merged.get(key)
      merged.set(key, known === undefined ? call : mergeCalls(known, call))
    }
    return [...merged.values()]
  }

  /** By `Kind/namespace/name#digest`. */
  rules(): ReadonlyMap<string, RuleUse> {
    const sum = new LedgerShard()
    for (const use of this.#everything(
      shard => shard.rules(),
      ({ rules }) => rules,
    ))
      sum.note(use)
    return new Map([...sum.rules()].map(use => [`${use.policy}#${use.digest}`, use]))
  }

  /** Since when calls of the workload are counted, and until when some may be missing because there was no room. */
  observed(workload: string): ObservedSpan {
    const index = shardOf(workload)
    const stored = this.#read(index)
    const waiting = [...(this.#shards[index]?.waiting.values() ?? [])]
    const losing = waiting.some(({ batch }) => batch.workload === workload && batch.forgotten > 0 && !stored.has(batch))
    const until = losing ? this.#now() : stored.forgottenUntil(workload)
    return { since: stored.since, forgottenUntil: Number.isFinite(until) ? until : undefined }
  }

  get forgotten(): number {
    return this.#shards.reduce((sum, _, index) => sum + this.#read(index).forgotten, 0)
  }

  /** Writes the batches that are waiting. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(
      this.#shards.map(async (shard, index) => {
        clearTimeout(shard.timer)
        shard.timer = undefined
        if (shard.waiting.size > 0) shard.writing = shard.writing.then(() => this.#write(index))
        await shard.writing
      }),
    )
  }

  *#everything<T>(stored: (shard: LedgerShard) => Iterable<T>, waiting: (batch: Batch) => Iterable<T>): Iterable<T> {
    for (const [index, shard] of this.#shards.entries()) {
      const known = this.#read(index)
      yield* stored(known)
      for (const { batch } of shard.waiting.values()) if (!known.has(batch)) yield* waiting(batch)
    }
  }

  /** The stored shard, decoded once per version. */
  #read(index: number): LedgerShard {
    const shard = this.#shards[index]
    const object = this.#options.stored.items.get(`${this.#options.names.rootNamespace}/${this.#name(index)}`)
    const version = object?.metadata.resourceVersion ?? ""
    if (shard?.decoded?.version === version) return shard.decoded.shard
    const decoded = decode(object)
    if (shard !== undefined) shard.decoded = { version, shard: decoded }
    return decoded
  }

  #schedule(index: number): void {
    const shard = this.#shards[index]
    if (shard === undefined || shard.timer !== undefined || this.#stopped) return
    const pause = Math.max(SOON_MS, shard.lastWrite + this.#paceMs - this.#now())
    shard.timer = setTimeout(
      () => {
        shard.timer = undefined
        shard.writing = shard.writing.then(() => this.#write(index))
      },
      Math.min(pause, this.#paceMs),
    )
    shard.timer.unref()
  }

  /** Never fails: errors are logged and the write is retried. */
  async #write(index: number): Promise<void> {
    const shard = this.#shards[index]
    if (shard === undefined || shard.waiting.size === 0) return
    shard.lastWrite = this.#now()
    const written = [...shard.waiting]
    try {
      await this.#put(
        index,
        written.map(([, { batch }]) => batch),
      )
      for (const [key, waiting] of written) {
        shard.waiting.delete(key)
        waiting.stored()
      }
    } catch (error) {
      this.#options.warn("observed calls could not be stored", error)
    }
    if (shard.waiting.size > 0) this.#schedule(index)
  }

  async #put(index: number, batches: readonly Batch[]): Promise<void> {
    const { client, names, owners } = this.#options
    const name = this.#name(index)
    const namespace = names.rootNamespace
    for (let attempt = 1; ; attempt++) {
      const object = await client.get<KubernetesObject>(CONFIG_MAPS, name, namespace)
      const shard = decode(object)
      for (const batch of batches) shard.take(batch, this.#now())
      const binaryData = { [FIELD]: shard.encode(this.#now()).toString("base64") }
      const kept = { labels: { [ledgerLabel(names)]: String(index) }, ...ownedBy(await owners()) }
      try {
        if (object === undefined) {
          const metadata = { name, namespace, ...kept }
          await client.create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData })
        } else {
          // The API server rejects this if another replica has written in between.
          const { resourceVersion } = object.metadata
          const body = { metadata: { resourceVersion, ...kept }, binaryData }
          await client.patch(CONFIG_MAPS, name, body, { namespace, type: "merge" })
        }
        return
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 409 || attempt === ATTEMPTS) throw error
      }
    }
  }

  #name(index: number): string {
    return `${this.#options.names.mesh}-calls-${index}`
  }
}

function decode(object: KubernetesObject | undefined): LedgerShard {
  const data = objectOf(object?.binaryData)[FIELD]
  const created = Date.parse(object?.metadata.creationTimestamp ?? "")
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : Buffer.alloc(0)
  return LedgerShard.decode(bytes, Number.isFinite(created) ? created : undefined)
}

function shardOf(workload: string): number {
  return createHash("sha256").update(workload).digest().readUInt32BE(0) % SHARDS
}
