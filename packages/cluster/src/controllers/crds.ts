// SPDX-License-Identifier: Apache-2.0
//
// Accepts and establishes CRDs as soon as they are written, and on deletion removes their objects before the CRD goes.

import { CRD_CLEANUP } from "../kinds/behaviours/custom-resource-definition.js"
import { builtinResources } from "../kinds/resource-table.js"
import { withCondition } from "../meta/conditions.js"
import { isDeleting, metaOf } from "../meta/object-meta.js"
import { trackUpdate } from "../patch/apply/field-manager.js"
import type { Registry } from "../registry/registry.js"
import { isCondition } from "../schema/crd.js"
import type { Entry, Watch } from "../store/store.js"
import { asArray, asObject, asString, asStrings, clone, dig, equal, type JsonObject } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"
import { deleteStored } from "./delete-stored.js"
import { WorkQueue } from "./work-queue.js"

const PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
const RETRY_MS = 200

export class CrdController {
  readonly #queue: WorkQueue
  #watches: Watch[] = []

  constructor(readonly registry: Registry) {
    this.#queue = new WorkQueue(key => this.#reconcile(key))
  }

  async start(): Promise<void> {
    const { store } = this.registry
    const { entries, revision } = await store.range({ prefix: PREFIX })
    for (const entry of entries) this.#queue.add(entry.key)
    this.#watches = [
      store.watch(PREFIX, revision, event => {
        this.#queue.add(event.key)
        // Names that a deleted CRD held may now be free for others.
        if (event.entry === undefined) void this.#requeueUnaccepted()
      }),
    ]
  }

  async #requeueUnaccepted(): Promise<void> {
    for (const entry of (await this.registry.store.range({ prefix: PREFIX })).entries)
      if (!isCondition(entry.object, "NamesAccepted")) this.#queue.add(entry.key)
  }

  async #reconcile(key: string): Promise<void> {
    const entry = await this.registry.store.get(key)
    if (entry === undefined) return
    if (isDeleting(entry.object)) await this.#cleanUp(key, entry)
    else await this.#accept(key, entry)
  }

  async #accept(key: string, entry: Entry): Promise<void> {
    const crd = clone(entry.object)
    const spec = asObject(crd.spec)
    const names = asObject(spec.names)
    const time = now(this.registry.clock)
    const clash = await this.#conflict(key, crd)
    let status = asObject(crd.status)
    if (clash === undefined) {
      status = withCondition(status, "NamesAccepted", "NoConflicts", "no conflicts found", time)
      status = withCondition(
        status,
        "Established",
        "InitialNamesAccepted",
        "the initial names have been accepted",
        time,
      )
      status.acceptedNames = names
    } else {
      status = withCondition(status, "NamesAccepted", clash.reason, clash.message, time, "False")
      if (!isCondition(entry.object, "Established"))
        status = withCondition(status, "Established", "NotAccepted", "not all names are accepted", time, "False")
      status.acceptedNames = { plural: asString(names.plural), kind: "" }
    }
    crd.status = status
    const next = this.#tracked(entry.object, crd)
    if (!equal(crd.status, entry.object.status ?? null))
      await this.registry.store.commit([{ key, modRevision: entry.modRevision }], [{ key, value: stringify(next) }])
  }

  /** The server's own writes are owned by the manager kube-apiserver, as in Kubernetes. */
  #tracked(before: JsonObject, after: JsonObject): JsonObject {
    const kind = this.registry.catalog.builtin("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    return trackUpdate(before, after, {
      type: kind.applyType,
      empty: kind.empty,
      owner: {
        manager: "kube-apiserver",
        operation: "Update",
        apiVersion: kind.info.apiVersion,
        subresource: "status",
      },
      now: now(this.registry.clock),
      allowed: set => set,
    })
  }

  async #conflict(key: string, crd: JsonObject): Promise<{ reason: string; message: string } | undefined> {
    const group = asString(dig(crd, "spec", "group"))
    const { entries } = await this.registry.store.range({ prefix: PREFIX })
    const others = entries
      .filter(
        entry =>
          entry.key !== key &&
          dig(entry.object, "spec", "group") === group &&
          isCondition(entry.object, "NamesAccepted"),
      )
      .map(entry => asObject(dig(entry.object, "status", "acceptedNames")))
    const builtin = builtinResources.filter(info => info.group === group)
    const resources = new Set([
      ...others.flatMap(item => [asString(item.plural), asString(item.singular), ...asStrings(item.shortNames)]),
      ...builtin.flatMap(info => [info.plural, info.singular]),
    ])
    const kinds = new Set([
      ...others.flatMap(item => [asString(item.kind), asString(item.listKind)]),
      ...builtin.flatMap(info => [info.kind, info.listKind]),
    ])
    const names = asObject(dig(crd, "spec", "names"))
    const used = (value: string): string => `${JSON.stringify(value)} is already in use`
    let found: { reason: string; message: string } | undefined
    const check = (reason: string, value: string, set: ReadonlySet<string>): void => {
      if (value !== "" && set.has(value)) found = { reason, message: used(value) }
    }
    check("PluralConflict", asString(names.plural), resources)
    check("SingularConflict", asString(names.singular), resources)
    for (const name of asStrings(names.shortNames)) check("ShortNamesConflict", name, resources)
    check("KindConflict", asString(names.kind), kinds)
    check("ListKindConflict", asString(names.listKind), kinds)
    return found
  }

  async #cleanUp(key: string, entry: Entry): Promise<void> {
    const crd = entry.object
    if (!asStrings(metaOf(crd).finalizers).includes(CRD_CLEANUP)) return
    const { store } = this.registry
    const prefix = `/registry/${asString(dig(crd, "spec", "group"))}/${asString(dig(crd, "spec", "names", "plural"))}/`
    const established = asArray(dig(crd, "status", "conditions"))
      .map(asObject)
      .some(item => item.type === "Established" && item.status === "True")
    const remaining = established ? (await store.range({ prefix })).entries : []
    for (const object of remaining) await deleteStored(this.registry, object)
    const left = established ? (await store.range({ prefix })).entries.length : 0
    const fresh = await store.get(key)
    if (fresh === undefined) return
    const next = clone(fresh.object)
    const time = now(this.registry.clock)
    if (left > 0) {
      next.status = withCondition(
        asObject(next.status),
        "Terminating",
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
        time,
      )
      if (!equal(next, fresh.object))
        await store.commit([{ key, modRevision: fresh.modRevision }], [{ key, value: stringify(next) }])
      this.#queue.addLater(key, RETRY_MS)
      return
    }
    const meta = metaOf(next)
    const finalizers = asStrings(meta.finalizers).filter(name => name !== CRD_CLEANUP)
    if (finalizers.length === 0) await store.commit([{ key, modRevision: fresh.modRevision }], [{ key, delete: true }])
    else {
      next.metadata = { ...meta, finalizers }
      await store.commit([{ key, modRevision: fresh.modRevision }], [{ key, value: stringify(next) }])
    }
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close()
    await this.#queue.close()
  }
}
