// SPDX-License-Identifier: Apache-2.0
// Creates, updates and reads objects with Kubernetes' semantics. A write is retried until it does not conflict with
// another writer; write-pipeline.ts has one attempt. Deletion is in deletion.ts, lists and watches in reading.ts.

import { setTimeout as sleep } from "node:timers/promises"
import { metaOf } from "../meta/object-meta.js"
import { modified, notFound } from "../meta/status.js"
import type { FieldManagement } from "../patch/apply/field-manager.js"
import type { Entry, Store } from "../store/store.js"
import { asString, type JsonObject } from "../value.js"
import type { Catalog } from "./catalog.js"
import { inTurn, type RequestContext } from "./context.js"
import { asNew, creationSteps } from "./creation.js"
import { fieldManagement } from "./field-management.js"
import { groupResource, type Kind, keyOf } from "./kind.js"
import { withRevision } from "./revision.js"
import { type UpdateRequest, updateSteps } from "./update.js"
import { type Admission, attemptWrite } from "./write-pipeline.js"

export interface Written {
  readonly object: JsonObject
  readonly created: boolean
}

/** One of several writers of an object succeeds per round; only an overload needs more attempts than this. */
const MAX_ATTEMPTS = 500

export class Registry {
  constructor(
    readonly store: Store,
    readonly catalog: Catalog,
    readonly admission: Admission,
    readonly clock: () => number,
  ) {}

  /** Caches the converted object of a version, because many lists and watchers read the same one. */
  readonly #presented = new WeakMap<Entry, { kind: Kind; object: JsonObject }>()

  /**
   * Returns the document in the kind's version, with its resourceVersion. It is shared: clone it before changing it.
   */
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

  management(kind: Kind, context: RequestContext, operation: "Apply" | "Update"): FieldManagement {
    return fieldManagement(kind, context, operation, this.clock)
  }

  async create(
    kind: Kind,
    object: JsonObject,
    context: RequestContext,
    options: JsonObject,
    tracked = false,
  ): Promise<JsonObject> {
    const request = { kind, context, options, tracked }
    const namespaces = this.catalog.builtin("", "v1", "namespaces")
    for (let attempt = 0; ; attempt++) {
      const created = await attemptWrite(this, request, creationSteps(this, request, namespaces, object))
      if (created !== undefined) return created
      if (attempt >= MAX_ATTEMPTS) throw modified(groupResource(kind.info), asString(metaOf(object).name))
      await backOff(attempt)
    }
  }

  async update(request: UpdateRequest): Promise<Written> {
    const { kind, context } = request
    for (let attempt = 0; ; attempt++) {
      const entry = await this.find(kind, context.namespace, context.name)
      if (entry === undefined) return { object: await this.#createByUpdate(request), created: true }
      const steps = updateSteps(this, request, entry, this.present(kind, entry))
      const object = await attemptWrite(this, request, steps)
      if (object !== undefined) return { object, created: false }
      if (request.exact || attempt >= MAX_ATTEMPTS) throw modified(groupResource(kind.info), context.name)
      await backOff(attempt)
    }
  }

  async #createByUpdate(request: UpdateRequest): Promise<JsonObject> {
    const { kind, context, options, tracked } = request
    if (request.create === "never") throw notFound(groupResource(kind.info), context.name)
    await this.admission.authorizeCreate(kind, context)
    const object = asNew(kind, await inTurn(context, () => request.transform(undefined)))
    return this.create(kind, object, context, { ...options, kind: "CreateOptions" }, tracked)
  }
}

/** Waits a random time, because writers of the same object would otherwise keep conflicting. */
async function backOff(attempt: number): Promise<void> {
  await sleep(Math.random() * Math.min(attempt * 4, 100))
}
