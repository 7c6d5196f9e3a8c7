// SPDX-License-Identifier: Apache-2.0
// Garbage collection by ownerReferences. Dependents of a deleted owner are deleted when they have no other owner. A
// foreground deletion waits for its dependents, and an orphaning one detaches them. An index of owners follows the
// store.

import { plain } from "../kinds/behaviours/by-kind.js"
import { isDeleting, metaOf } from "../meta/object-meta.js"
import type { RequestContext, User } from "../registry/context.js"
import { deleteObject } from "../registry/deletion.js"
import { FOREGROUND, finished, ORPHAN } from "../registry/marking.js"
import type { Registry } from "../registry/registry.js"
import type { Entry, StoreEvent, Watch } from "../store/store.js"
import { asArray, asObject, asString, asStrings, clone, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { deleteStored } from "./delete-stored.js"
import { WorkQueue } from "./work-queue.js"

const PREFIX = "/registry/"
/** The account that kube-controller-manager's garbage collector uses. */
const COLLECTOR: User = {
  name: "system:serviceaccount:kube-system:generic-garbage-collector",
  uid: "",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
  extra: {},
}
const RETRY_MS = 100
/** An object may be created before its owner, so a missing owner counts as deleted only after this time. */
const ABSENT_OWNER_MS = 15_000

export class GarbageCollector {
  readonly #queue: WorkQueue
  readonly #dependents = new Map<string, Set<string>>()
  readonly #uids = new Map<string, string>()
  readonly #owners = new Map<string, string[]>()
  #watch: Watch | undefined

  constructor(readonly registry: Registry) {
    this.#queue = new WorkQueue(key => this.#reconcile(key))
  }

  async start(): Promise<void> {
    const { store } = this.registry
    const { entries, revision } = await store.range({ prefix: PREFIX })
    for (const entry of entries) this.#index(entry)
    for (const entry of entries) this.#consider(entry)
    this.#watch = store.watch(PREFIX, revision, event => this.#changed(event))
  }

  #changed(event: StoreEvent): void {
    const previous = event.previous?.object
    if (event.entry !== undefined) {
      this.#index(event.entry)
      this.#consider(event.entry)
      return
    }
    this.#forget(event.key)
    const uid = asString(metaOf(previous ?? {}).uid)
    this.#uids.delete(uid)
    for (const key of this.#dependents.get(uid) ?? []) this.#queue.add(key)
    for (const ref of asArray(metaOf(previous ?? {}).ownerReferences)) this.#wakeOwner(asString(asObject(ref).uid))
  }

  #index(entry: Entry): void {
    const meta = metaOf(entry.object)
    this.#forget(entry.key)
    this.#uids.set(asString(meta.uid), entry.key)
    const owners = asArray(meta.ownerReferences).map(ref => asString(asObject(ref).uid))
    if (owners.length === 0) return
    this.#owners.set(entry.key, owners)
    for (const uid of owners) this.#dependents.set(uid, (this.#dependents.get(uid) ?? new Set()).add(entry.key))
  }

  #forget(key: string): void {
    for (const uid of this.#owners.get(key) ?? []) {
      const set = this.#dependents.get(uid)
      set?.delete(key)
      if (set?.size === 0) this.#dependents.delete(uid)
    }
    this.#owners.delete(key)
  }

  #wakeOwner(uid: string): void {
    const key = this.#uids.get(uid)
    if (key !== undefined) this.#queue.add(key)
  }

  #consider(entry: Entry): void {
    const finalizers = asStrings(metaOf(entry.object).finalizers)
    if (isDeleting(entry.object) && (finalizers.includes(ORPHAN) || finalizers.includes(FOREGROUND)))
      this.#queue.add(entry.key)
    const owners = this.#owners.get(entry.key)
    if (owners?.some(uid => !this.#uids.has(uid))) this.#queue.addLater(entry.key, ABSENT_OWNER_MS)
  }

  async #reconcile(key: string): Promise<void> {
    const { store } = this.registry
    const entry = await store.get(key)
    if (entry === undefined) return
    const meta = metaOf(entry.object)
    const finalizers = asStrings(meta.finalizers)
    if (isDeleting(entry.object) && finalizers.includes(ORPHAN)) {
      await this.#orphan(asString(meta.uid))
      await this.#release(entry, ORPHAN)
      return
    }
    if (isDeleting(entry.object) && finalizers.includes(FOREGROUND)) {
      const dependents = [...(this.#dependents.get(asString(meta.uid)) ?? [])]
      for (const dependent of dependents) {
        const found = await store.get(dependent)
        // A dependent that cannot be deleted holds up its owner, but no other dependent.
        if (found !== undefined) await this.#delete(found).catch(() => undefined)
      }
      if ((this.#dependents.get(asString(meta.uid))?.size ?? 0) > 0) this.#queue.addLater(key, RETRY_MS)
      else await this.#release(entry, FOREGROUND)
      return
    }
    const owners = this.#owners.get(key) ?? []
    // Only if every owner is deleted; one that remains keeps the object.
    if (owners.length > 0 && owners.every(uid => !this.#uids.has(uid))) await this.#delete(entry)
  }

  /**
   * Calls admission as for a client's deletion. Otherwise deleting the owner would bypass a webhook that protects the
   * object.
   */
  async #delete(entry: Entry): Promise<void> {
    const kind = this.registry.catalog.storing(entry.key)
    if (kind === undefined) {
      await deleteStored(this.registry, entry)
      return
    }
    const { name, namespace, uid } = metaOf(entry.object)
    const context: RequestContext = {
      user: COLLECTOR,
      namespace: asString(namespace),
      name: asString(name),
      subresource: "",
      dryRun: false,
      fieldManager: "",
      fieldValidation: "Ignore",
      warn: () => undefined,
      now: () => this.registry.clock(),
      signal: undefined,
    }
    await deleteObject(this.registry, kind, context, { preconditions: { uid: asString(uid) } }, {})
  }

  async #orphan(uid: string): Promise<void> {
    const { store } = this.registry
    for (const key of [...(this.#dependents.get(uid) ?? [])]) {
      const entry = await store.get(key)
      if (entry === undefined) continue
      const object = clone(entry.object)
      const meta = metaOf(object)
      const rest = asArray(meta.ownerReferences).filter(ref => asObject(ref).uid !== uid)
      if (rest.length === 0) delete meta.ownerReferences
      else meta.ownerReferences = rest
      object.metadata = meta
      const done = await store.commit([{ key, modRevision: entry.modRevision }], [{ key, value: stringify(object) }])
      if (done === undefined) throw new Error("changed meanwhile")
    }
  }

  async #release(entry: Entry, finalizer: string): Promise<void> {
    const { store, catalog } = this.registry
    const object: JsonObject = clone(entry.object)
    const meta = metaOf(object)
    const rest = asStrings(meta.finalizers).filter(name => name !== finalizer)
    if (rest.length === 0) delete meta.finalizers
    else meta.finalizers = rest
    object.metadata = meta
    const { key } = entry
    // Finalizers are not the only thing that holds an object: a namespace has its content, a Pod its grace period.
    const gone = finished(catalog.storing(key)?.behaviour ?? plain, object)
    const done = await store.commit(
      [{ key, modRevision: entry.modRevision }],
      [gone ? { key, delete: true } : { key, value: stringify(object) }],
    )
    if (done === undefined) throw new Error("changed meanwhile")
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#queue.close()
  }
}
