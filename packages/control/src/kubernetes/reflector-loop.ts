// SPDX-License-Identifier: Apache-2.0
// Keeps a reflector's copy up to date: lists, watches from there, and lists again if the server no longer has that
// revision. While the API is unreachable the copy stays unchanged, and readers can see since when.

import { Emitter, messageOf } from "@merlon/xds/runtime"
import { Backoff } from "./backoff.js"
import { ApiError, type KubernetesClient, type ListOptions, type WatchEvent } from "./client.js"
import type { Change, Reflected } from "./reflector.js"
import { type KubernetesObject, objectKey, type ResourceType } from "./resource-type.js"
import { pause, SYSTEM_TIME, type Time, unlessAborted } from "./time.js"

export interface ReflectorOptions<T extends KubernetesObject> extends ListOptions {
  readonly client: KubernetesClient
  readonly type: ResourceType
  /** Reduces an object to the part that is kept; everything is kept if absent. */
  readonly kept?: (object: T) => T
  readonly log?: (message: string, error: unknown) => void
  readonly time?: Time
  readonly random?: () => number
  /**
   * A watch that receives nothing for so long, not even a bookmark, counts as dead. Servers send a bookmark each
   * minute.
   */
  readonly progressDeadlineMs?: number
}

export interface ReflectorHealth {
  readonly connected: boolean
  /** When it became so, by the wall clock. */
  readonly since: number
  /** The last error, while not connected. */
  readonly error?: string
}

const PROGRESS_DEADLINE_MS = 4 * 60_000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000

export class Reflector<T extends KubernetesObject> implements Reflected<T> {
  readonly items: ReadonlyMap<string, T>
  readonly synced: Promise<void>
  readonly #items = new Map<string, T>()
  /** An error of one listener must neither hide the change from the others nor end the watch. */
  readonly #changes = new Emitter<[change: Change<T>]>((error, { key }) =>
    this.#log(`a listener of \`${this.#options.type.plural}\` failed on \`${key}\``, error),
  )
  readonly #healthChanges = new Emitter<[health: ReflectorHealth]>(error =>
    this.#log("a listener for health failed", error),
  )
  readonly #options: ReflectorOptions<T>
  readonly #time: Time
  readonly #backoff: Backoff
  readonly #end = new AbortController()
  #markSynced: () => void = () => {}
  #loop: Promise<void> | undefined
  #resourceVersion: string | undefined
  /** Refreshes that wait for a list that has not started yet. */
  #refreshes: (() => void)[] = []
  #endWatch: () => void = () => {}
  #health: ReflectorHealth

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    this.#backoff = new Backoff({
      firstMs: FIRST_PAUSE_MS,
      limitMs: LONGEST_PAUSE_MS,
      random: options.random ?? Math.random,
    })
    this.items = this.#items
    this.synced = new Promise(resolve => {
      this.#markSynced = resolve
    })
    this.#health = { connected: false, since: this.#time.now() }
  }

  get health(): ReflectorHealth {
    return this.#health
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    return this.#changes.on(listener)
  }

  onHealth(listener: (health: ReflectorHealth) => void): () => void {
    return this.#healthChanges.on(listener)
  }

  start(): this {
    this.#loop ??= this.#run()
    return this
  }

  /** Resolves once the copy has everything stored at the time of this call, however far the watch lags. */
  refresh(): Promise<void> {
    return new Promise(resolve => {
      this.#refreshes.push(resolve)
      this.#endWatch()
    })
  }

  /** After this call, no change is reported any more. */
  async stop(): Promise<void> {
    this.#end.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      try {
        // A stop does not wait for a list that hangs; its result no longer matters then.
        if (this.#refreshes.length > 0) this.#resourceVersion = undefined
        this.#resourceVersion ??= await unlessAborted(this.#list(), signal)
        if (signal.aborted || this.#resourceVersion === undefined) return
        if (this.#refreshes.length > 0 || (await this.#watch(this.#resourceVersion))) {
          this.#backoff.reset()
          continue
        }
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
      }
      await pause(this.#time, this.#backoff.next(), signal)
    }
  }

  async #list(): Promise<string> {
    const { client, type, namespace, labelSelector, fieldSelector } = this.#options
    const waiting = this.#refreshes.splice(0)
    const { items, resourceVersion } = await client
      .list<T>(type, defined({ namespace, labelSelector, fieldSelector }))
      .catch((error: unknown) => {
        this.#refreshes.push(...waiting)
        throw error
      })
    if (this.#end.signal.aborted) return resourceVersion
    const listed = new Map(items.flatMap(item => (this.#readable(item) ? [[objectKey(item), item] as const] : [])))
    for (const [key, gone] of [...this.#items]) {
      const now = listed.get(key)
      // An object with the same name and another uid is another object: the old one is reported as deleted first.
      if (now === undefined || now.metadata.uid !== gone.metadata.uid) this.#forget(key)
    }
    for (const [key, item] of listed) {
      if (this.#items.get(key)?.metadata.resourceVersion !== item.metadata.resourceVersion) this.#keep(key, item)
    }
    this.#connected()
    this.#markSynced()
    for (const done of waiting) done()
    return resourceVersion
  }

  /** Returns whether the watch received anything: one that ends at once is not reopened at once. */
  async #watch(from: string): Promise<boolean> {
    const { client, type, namespace, labelSelector, fieldSelector } = this.#options
    const deadline = this.#options.progressDeadlineMs ?? PROGRESS_DEADLINE_MS
    const began = this.#time.monotonic()
    const opened = new AbortController()
    const stop = (): void => opened.abort()
    this.#end.signal.addEventListener("abort", stop, { once: true })
    this.#endWatch = stop
    let cancel = this.#time.after(deadline, stop)
    let progress = false
    try {
      const options = { ...defined({ namespace, labelSelector, fieldSelector }), signal: opened.signal }
      for await (const event of client.watch<T>(type, from, options)) {
        if (this.#end.signal.aborted) return true
        cancel()
        cancel = this.#time.after(deadline, stop)
        progress = true
        this.#connected()
        if (this.#isBehind(event)) {
          this.#resourceVersion = undefined
          return false
        }
        this.#take(event)
      }
      // A watch without events may wait for a version that never comes, as after a restore of the cluster from a
      // backup.
      if (!progress) this.#resourceVersion = undefined
      return progress || this.#refreshes.length > 0 || this.#time.monotonic() - began >= deadline
    } catch (error) {
      if (this.#refreshes.length > 0 && opened.signal.aborted) return true
      const forgotten = error instanceof ApiError && error.code === 410
      // A connection that was cut is reopened at the same version. After a watch without any event, a list decides; it
      // also shows when the API is available again.
      if (forgotten || !progress) this.#resourceVersion = undefined
      if (!forgotten && !progress) throw error
      return progress
    } finally {
      cancel()
      this.#end.signal.removeEventListener("abort", stop)
      opened.abort()
    }
  }

  /** Whether the server is behind our version: then its history is not the one we know, and we have to list again. */
  #isBehind({ type, object }: WatchEvent<T>): boolean {
    const [theirs, ours] = [object.metadata?.resourceVersion ?? "", this.#resourceVersion ?? ""]
    return type === "BOOKMARK" && /^\d+$/.test(theirs) && /^\d+$/.test(ours) && BigInt(theirs) < BigInt(ours)
  }

  #take({ type, object }: WatchEvent<T>): void {
    const { resourceVersion } = object.metadata ?? {}
    if (type !== "BOOKMARK" && this.#readable(object)) {
      const key = objectKey(object)
      if (type === "DELETED") this.#forget(key, object)
      else {
        const known = this.#items.get(key)
        if (known !== undefined && known.metadata.uid !== object.metadata.uid) this.#forget(key)
        this.#keep(key, object)
      }
    }
    if (typeof resourceVersion === "string" && resourceVersion !== "") this.#resourceVersion = resourceVersion
  }

  #readable(object: T): boolean {
    if (typeof object.metadata?.name === "string" && object.metadata.name !== "") return true
    this.#log(`the API sent an object of \`${this.#options.type.plural}\` without a name`, undefined)
    return false
  }

  #keep(key: string, received: T): void {
    const previous = this.#items.get(key)
    const { kept } = this.#options
    const object = withoutManagers(kept === undefined ? received : kept(received))
    this.#items.set(key, object)
    this.#notify({ key, object, previous })
  }

  /** `last` is the final state, if the server sent it. */
  #forget(key: string, last?: T): void {
    const known = this.#items.get(key)
    if (known === undefined) return
    this.#items.delete(key)
    this.#notify({ key, object: undefined, previous: last ?? known })
  }

  #notify(change: Change<T>): void {
    if (this.#end.signal.aborted) return
    this.#changes.emit(change)
  }

  #connected(): void {
    if (!this.#health.connected) this.#setHealth({ connected: true, since: this.#time.now() })
  }

  #failed(error: unknown): void {
    const message = messageOf(error)
    this.#log(`the watch of \`${this.#options.type.plural}\` failed`, error)
    const since = this.#health.connected ? this.#time.now() : this.#health.since
    this.#setHealth({ connected: false, since, error: message })
  }

  #setHealth(health: ReflectorHealth): void {
    this.#health = health
    this.#healthChanges.emit(health)
  }

  #log(message: string, error: unknown): void {
    this.#options.log?.(message, error)
  }
}

function defined(options: { readonly [Name in keyof ListOptions]: ListOptions[Name] | undefined }): ListOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** Managed fields are never read, and would take memory for thousands of Pods. */
function withoutManagers<T extends KubernetesObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
