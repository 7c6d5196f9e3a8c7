// SPDX-License-Identifier: Apache-2.0
//
// Creating, replacing and reading objects with Kubernetes' semantics: admission, preparation, validation, optimistic
// concurrency, generation, managed fields. Deletion stands in deletion.ts, lists and watches in reading.ts.

import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Allocation } from "../kinds/behaviour.js"
import { type FieldError, invalid } from "../meta/field-error.js"
import { isDeleting, metaOf, validateMeta, validateMetaUpdate } from "../meta/object-meta.js"
import {
  type ApiError,
  alreadyExists,
  badRequest,
  conflict,
  forbiddenError,
  internal,
  invalidError,
  modified,
  notFound,
} from "../meta/status.js"
import { type FieldManagement, trackUpdate } from "../patch/apply/field-manager.js"
import { FieldSet } from "../patch/apply/field-set.js"
import type { Entry, Store } from "../store/store.js"
import { asString, clone, equal, type JsonObject } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"
import type { Catalog } from "./catalog.js"
import { type AdmissionRequest, inTurn, type RequestContext } from "./context.js"
import { groupResource, type Kind, keyOf } from "./kind.js"
import { finished } from "./marking.js"

export interface Admission {
  /** Refuses users who may write the object but not create it. */
  authorizeCreate(kind: Kind, context: RequestContext): Promise<void>
  mutate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<JsonObject>
  validate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<void>
}

export interface UpdateRequest {
  readonly kind: Kind
  readonly context: RequestContext
  /** The object as it should become; called again when somebody else was faster. Returns its options for admission. */
  transform(current: JsonObject | undefined): Promise<JsonObject> | JsonObject
  readonly options: JsonObject
  /** Create the object when it is missing. */
  readonly create: "never" | "allowed"
  /** managedFields are already right, as after an apply. */
  readonly tracked: boolean
  /** The caller's own resourceVersion must match; otherwise a lost race is tried again. */
  readonly exact: boolean
}

export interface Written {
  readonly object: JsonObject
  readonly created: boolean
}

/** Everybody who writes the same object at once is served in turn; only a storm beyond this is refused. */
const MAX_ATTEMPTS = 500
const NOTHING: Allocation = { compares: [], writes: [] }
const RANDOM = "bcdfghjklmnpqrstvwxz2456789"
export class Registry {
  constructor(
    readonly store: Store,
    readonly catalog: Catalog,
    readonly admission: Admission,
    readonly clock: () => number,
  ) {}

  /** Many lists and watchers read the same version of an object; it is brought into form once for all of them. */
  readonly #presented = new WeakMap<Entry, { kind: Kind; object: JsonObject }>()

  /** The document in the kind's version, with its resourceVersion. Shared: whoever changes it clones it first. */
  present(kind: Kind, entry: Entry): JsonObject {
    const known = this.#presented.get(entry)
    if (known?.kind === kind) return known.object
    const object = withRevision(kind.fromStored(entry.object), entry.modRevision)
    this.#presented.set(entry, { kind, object })
    return object
  }

  async find(kind: Kind, namespace: string, name: string): Promise<Entry | undefined> {
    return this.store.get(keyOf(kind.info, namespace, name))
  }

  async get(kind: Kind, namespace: string, name: string): Promise<JsonObject> {
    const entry = await this.find(kind, namespace, name)
    if (entry === undefined) throw notFound(groupResource(kind.info), name)
    return this.present(kind, entry)
  }

  async checkNamespace(kind: Kind, context: RequestContext, name: string): Promise<void> {
    if (!kind.info.namespaced) return
    const namespaces = this.catalog.builtin("", "v1", "namespaces")
    const entry = await this.find(namespaces, "", context.namespace)
    if (entry === undefined) throw notFound({ group: "", resource: "namespaces" }, context.namespace)
    if (isDeleting(entry.object))
      throw forbiddenError(
        groupResource(kind.info),
        name,
        `unable to create new content in namespace ${context.namespace} because it is being terminated`,
        [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${context.namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      )
  }

  management(kind: Kind, context: RequestContext, operation: "Apply" | "Update"): FieldManagement {
    const status = FieldSet.fromJson({ "f:status": {} })
    return {
      type: kind.applyType,
      empty: kind.empty,
      owner: {
        manager: context.fieldManager,
        operation,
        apiVersion: kind.info.apiVersion,
        subresource: context.subresource,
      },
      now: now(this.clock),
      allowed: set => {
        if (context.subresource === "status") {
          const kept = new FieldSet()
          const keep = kind.behaviour.metaThroughStatus === true ? ["f:status", "f:metadata"] : ["f:status"]
          for (const element of keep) {
            if (set.members.has(element)) kept.members.add(element)
            const child = set.children.get(element)
            if (child !== undefined) kept.children.set(element, child)
          }
          return kept
        }
        return kind.hasStatus && context.subresource === "" ? set.recursiveDifference(status) : set
      },
    }
  }

  async create(
    kind: Kind,
    object: JsonObject,
    context: RequestContext,
    options: JsonObject,
    tracked = false,
  ): Promise<JsonObject> {
    for (let attempt = 0; ; attempt++) {
      const created = await this.#insert(kind, object, context, options, tracked)
      if (created !== undefined) return created
      if (attempt >= MAX_ATTEMPTS) throw modified(groupResource(kind.info), asString(metaOf(object).name))
      await sleep(Math.random() * Math.min(attempt * 4, 100))
    }
  }

  /** undefined when somebody else took addresses in between. */
  async #insert(
    kind: Kind,
    object: JsonObject,
    context: RequestContext,
    options: JsonObject,
    tracked: boolean,
  ): Promise<JsonObject | undefined> {
    const draft = clone(object)
    const meta = metaOf(draft)
    draft.metadata = meta
    if (kind.info.namespaced) meta.namespace = context.namespace
    if (asString(meta.name) === "" && asString(meta.generateName) !== "")
      meta.name = this.#generateName(asString(meta.generateName))
    await this.checkNamespace(kind, context, asString(meta.name))
    const managed = tracked
      ? draft
      : await inTurn(context, () => trackUpdate(undefined, draft, this.management(kind, context, "Update")))
    const mutated = clone(
      await this.admission.mutate(kind, { operation: "CREATE", object: managed, oldObject: null, options }, context),
    )
    const own = metaOf(mutated)
    // Where an object lies was judged before any webhook saw it.
    if (kind.info.namespaced && own.namespace !== context.namespace)
      throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
    for (const key of ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]) delete own[key]
    own.uid = randomUUID()
    own.creationTimestamp = now(this.clock)
    const errors = await inTurn(context, () => {
      kind.prepareForCreate(mutated)
      kind.behaviour.normalize?.(mutated)
      return [...validateMeta(metaOf(mutated), kind.meta), ...kind.validate(mutated, context)]
    })
    if (errors.length > 0) throw invalidError(invalidKind(kind, mutated), asString(own.name), errors)
    const key = keyOf(kind.info, context.namespace, asString(own.name))
    const addresses = await this.#allocate(kind, mutated, key)
    await this.admission.validate(kind, { operation: "CREATE", object: mutated, oldObject: null, options }, context)
    const revision = asString(own.resourceVersion)
    if (revision !== "" && revision !== "0")
      throw internal("resourceVersion should not be set on objects to be created")
    kind.behaviour.advise?.(mutated, context)
    const stored = await inTurn(context, () => storedForm(kind, mutated))
    const existing = await this.store.get(key)
    if (existing !== undefined) throw this.#exists(kind, existing, asString(own.name))
    if (context.dryRun) return withoutRevision(kind.fromStored(stored))
    const written = await this.store.commit(
      [{ key, modRevision: 0 }, ...addresses.compares],
      [...addresses.writes, { key, value: stringify(stored) }],
    )
    if (written === undefined) {
      const winner = await this.store.get(key)
      if (winner === undefined && addresses.compares.length > 0) return undefined
      throw this.#exists(kind, winner, asString(own.name))
    }
    return withRevision(kind.fromStored(stored), written)
  }

  #exists(kind: Kind, entry: Entry | undefined, name: string): ApiError {
    const deleting = entry !== undefined && isDeleting(entry.object)
    return alreadyExists(groupResource(kind.info), name, deleting ? "object is being deleted: " : "")
  }

  #generateName(base: string): string {
    let suffix = ""
    for (let i = 0; i < 5; i++) suffix += RANDOM[Math.floor(Math.random() * RANDOM.length)]
    return `${base.slice(0, 58)}${suffix}`
  }

  async #allocate(kind: Kind, object: JsonObject, key: string): Promise<Allocation> {
    const { store } = this
    return (await kind.behaviour.allocate?.({ object, key, prefix: kind.info.prefix, store })) ?? NOTHING
  }

  async update(request: UpdateRequest): Promise<Written> {
    const { kind, context } = request
    const key = keyOf(kind.info, context.namespace, context.name)
    for (let attempt = 0; ; attempt++) {
      const entry = await this.store.get(key)
      if (entry === undefined) {
        if (request.create === "never") throw notFound(groupResource(kind.info), context.name)
        await this.admission.authorizeCreate(kind, context)
        const object = this.#asNew(kind, await inTurn(context, () => request.transform(undefined)))
        return {
          object: await this.create(
            kind,
            object,
            context,
            { ...request.options, kind: "CreateOptions" },
            request.tracked,
          ),
          created: true,
        }
      }
      const done = await this.#replace(request, key, entry)
      if (done !== undefined) return { object: done, created: false }
      if (request.exact || attempt >= MAX_ATTEMPTS) throw modified(groupResource(kind.info), context.name)
      // Writers of one object step aside at random, or all but one of them would try in vain each time.
      await sleep(Math.random() * Math.min(attempt * 4, 100))
    }
  }

  /** An update that creates: its version says nothing, if it is one; a uid would name an object that is not there. */
  #asNew(kind: Kind, object: JsonObject): JsonObject {
    const { resourceVersion, ...meta } = metaOf(object)
    const version = asString(resourceVersion)
    if (!/^\d*$/.test(version)) throw internal(`strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`)
    const uid = asString(meta.uid)
    if (uid !== "")
      throw conflict(
        groupResource(kind.info),
        asString(meta.name),
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      )
    return { ...object, metadata: meta }
  }

  /** undefined when somebody else changed the object in between. */
  async #replace(request: UpdateRequest, key: string, entry: Entry): Promise<JsonObject | undefined> {
    const { kind, context } = request
    const gr = groupResource(kind.info)
    const current = this.present(kind, entry)
    const wanted = clone(await inTurn(context, () => request.transform(current)))
    const meta = metaOf(wanted)
    wanted.metadata = meta
    const uid = asString(meta.uid)
    if (uid !== "" && uid !== asString(metaOf(current).uid) && request.exact)
      throw conflict(
        gr,
        context.name,
        `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${asString(metaOf(current).uid)}`,
      )
    const version = asString(meta.resourceVersion)
    if (version === "" || version === "0") {
      if (!kind.info.traits.unconditionalUpdate)
        throw invalidError(gr, context.name, [
          { ...invalid("metadata.resourceVersion", 0, "must be specified for an update") },
        ])
    } else if (version !== `${entry.modRevision}`) throw modified(gr, context.name)
    meta.resourceVersion = `${entry.modRevision}`
    const managed = request.tracked
      ? wanted
      : await inTurn(context, () => trackUpdate(current, wanted, this.management(kind, context, "Update")))
    const mutated = clone(
      await this.admission.mutate(
        kind,
        { operation: "UPDATE", object: managed, oldObject: current, options: request.options },
        context,
      ),
    )
    const old = clone(current)
    const errors = await inTurn(context, () => {
      this.#prepareUpdate(kind, mutated, old, context)
      return this.#updateErrors(kind, mutated, old, context)
    })
    if (errors.length > 0) throw invalidError(invalidKind(kind, mutated), asString(metaOf(mutated).name), errors)
    const addresses = await this.#allocate(kind, mutated, key)
    await this.admission.validate(
      kind,
      { operation: "UPDATE", object: mutated, oldObject: current, options: request.options },
      context,
    )
    const stored = await inTurn(context, () => storedForm(kind, mutated))
    if (equal(stored, entry.object)) return current
    if (finished(kind.behaviour, stored)) {
      if (context.dryRun) return withRevision(kind.fromStored(stored), entry.modRevision)
      const gone = await this.store.commit([{ key, modRevision: entry.modRevision }], [{ key, delete: true }])
      return gone === undefined ? undefined : withRevision(kind.fromStored(stored), entry.modRevision)
    }
    if (context.dryRun) return withRevision(kind.fromStored(stored), entry.modRevision)
    const revision = await this.store.commit(
      [{ key, modRevision: entry.modRevision }, ...addresses.compares],
      [...addresses.writes, { key, value: stringify(stored) }],
    )
    return revision === undefined ? undefined : withRevision(kind.fromStored(stored), revision)
  }

  #prepareUpdate(kind: Kind, object: JsonObject, old: JsonObject, context: RequestContext): void {
    const before = metaOf(old)
    object.metadata = metaOf(object)
    // Preparing may replace the metadata, so it is looked up each time.
    const keep = (key: string): void => {
      const meta = metaOf(object)
      if (before[key] === undefined) delete meta[key]
      else meta[key] = before[key]
    }
    kind.behaviour.narrow?.(context.subresource, object, old)
    keep("generation")
    if (context.subresource === "status") {
      for (const key of Object.keys(object))
        if (!["kind", "apiVersion", "metadata", "status"].includes(key)) delete object[key]
      for (const [key, value] of Object.entries(old)) if (key !== "status" && key !== "metadata") object[key] = value
      if (kind.behaviour.metaThroughStatus === true) keep("ownerReferences")
      else for (const key of ["labels", "annotations", "finalizers", "ownerReferences"]) keep(key)
    } else if (context.subresource !== "finalize" && context.subresource !== "binding")
      kind.prepareForUpdate(object, old)
    kind.behaviour.normalize?.(object)
    if (asString(metaOf(object).uid) === "") keep("uid")
    keep("creationTimestamp")
    if (before.deletionTimestamp !== undefined) keep("deletionTimestamp")
    if (before.deletionGracePeriodSeconds !== undefined && metaOf(object).deletionGracePeriodSeconds === undefined)
      keep("deletionGracePeriodSeconds")
  }

  #updateErrors(kind: Kind, object: JsonObject, old: JsonObject, context: RequestContext): FieldError[] {
    const meta = validateMetaUpdate(metaOf(object), metaOf(old), kind.meta.strictFinalizers)
    // Custom resources are checked by the generic and by their own strategy; clients see both causes.
    const twice = kind.builtin ? meta : [...meta, ...meta]
    if (!kind.builtin && object.kind !== kind.info.kind) return kind.validateUpdate(object, old, context)
    if (kind.builtin && ["status", "binding", "finalize"].includes(context.subresource)) return twice
    const narrowed = kind.behaviour.validateNarrowed?.(context.subresource, object, old)
    if (narrowed !== undefined) return [...twice, ...narrowed]
    return [...twice, ...kind.validateUpdate(object, old, context)]
  }
}

/** Refusals name the kind the client sent. */
function invalidKind(kind: Kind, object: JsonObject): { group: string; resource: string } {
  return { group: kind.behaviour.refusedIn ?? kind.info.group, resource: asString(object.kind) }
}

function storedForm(kind: Kind, object: JsonObject): JsonObject {
  const { resourceVersion: _, ...meta } = metaOf(object)
  return kind.toStored({ ...object, metadata: meta })
}

export function withRevision(object: JsonObject, revision: number): JsonObject {
  const { name, generateName, namespace, selfLink, uid, resourceVersion: _, ...rest } = metaOf(object)
  const meta: JsonObject = {}
  // Go's order of ObjectMeta; error messages quote whole objects.
  if (name !== undefined) meta.name = name
  if (generateName !== undefined) meta.generateName = generateName
  if (namespace !== undefined) meta.namespace = namespace
  if (selfLink !== undefined) meta.selfLink = selfLink
  if (uid !== undefined) meta.uid = uid
  meta.resourceVersion = `${revision}`
  return { ...object, metadata: { ...meta, ...rest } }
}

function withoutRevision(object: JsonObject): JsonObject {
  const { resourceVersion: _, ...meta } = metaOf(object)
  return { ...object, metadata: meta }
}
