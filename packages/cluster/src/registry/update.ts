// SPDX-License-Identifier: Apache-2.0
//
// The steps of the write pipeline in which an update differs from creation.

import { type FieldError, invalid } from "../meta/field-error.js"
import { metaOf, validateMetaUpdate } from "../meta/object-meta.js"
import { conflict, invalidError, modified } from "../meta/status.js"
import type { Entry } from "../store/store.js"
import { asString, clone, equal, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { inTurn, type RequestContext } from "./context.js"
import { groupResource, type Kind, keyOf } from "./kind.js"
import { finished } from "./marking.js"
import { withRevision } from "./revision.js"
import type { WriteEnvironment, WriteRequest, WriteSteps } from "./write-pipeline.js"

export interface UpdateRequest extends WriteRequest {
  /** Returns the desired object; called again after a conflict with another writer. */
  transform(current: JsonObject | undefined): Promise<JsonObject> | JsonObject
  /** Whether a missing object is created. */
  readonly create: "never" | "allowed"
  /** Whether the caller's resourceVersion must match; otherwise a conflict is retried. */
  readonly exact: boolean
}

/** `current` is the object of `entry` in the version of the request. */
export function updateSteps(
  { store }: WriteEnvironment,
  request: UpdateRequest,
  entry: Entry,
  current: JsonObject,
): WriteSteps {
  const { kind, context } = request
  const old = clone(current)
  return {
    operation: "UPDATE",
    current,
    async propose() {
      const object = clone(await inTurn(context, () => request.transform(current)))
      object.metadata = metaOf(object)
      checkPreconditions(request, entry, current, object)
      metaOf(object).resourceVersion = `${entry.modRevision}`
      return object
    },
    prepare: object => prepare(kind, object, old, context),
    errors: object => updateErrors(kind, object, old, context),
    key: () => keyOf(kind.info, context.namespace, context.name),
    async commit(key, stored, addresses) {
      if (equal(stored, entry.object)) return current
      const answer = (revision: number): JsonObject => withRevision(kind.fromStored(stored), revision)
      if (context.dryRun) return answer(entry.modRevision)
      const unchanged = { key, modRevision: entry.modRevision }
      if (finished(kind.behaviour, stored)) {
        const gone = await store.commit([unchanged], [{ key, delete: true }])
        return gone === undefined ? undefined : answer(entry.modRevision)
      }
      const revision = await store.commit(
        [unchanged, ...addresses.compares],
        [...addresses.writes, { key, value: stringify(stored) }],
      )
      return revision === undefined ? undefined : answer(revision)
    },
  }
}

function checkPreconditions(
  { kind, context, exact }: UpdateRequest,
  { modRevision }: Entry,
  current: JsonObject,
  object: JsonObject,
): void {
  const gr = groupResource(kind.info)
  const uid = asString(metaOf(object).uid)
  const currentUid = asString(metaOf(current).uid)
  if (uid !== "" && uid !== currentUid && exact)
    throw conflict(
      gr,
      context.name,
      `StorageError: invalid object, Code: 4, Key: ${keyOf(kind.info, context.namespace, context.name)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${currentUid}`,
    )
  const version = asString(metaOf(object).resourceVersion)
  if (version === "" || version === "0") {
    if (!kind.info.traits.unconditionalUpdate)
      throw invalidError(gr, context.name, [
        { ...invalid("metadata.resourceVersion", 0, "must be specified for an update") },
      ])
  } else if (version !== `${modRevision}`) throw modified(gr, context.name)
}

function prepare(kind: Kind, object: JsonObject, old: JsonObject, { subresource }: RequestContext): void {
  const before = metaOf(old)
  // Looked up each time, because preparation may replace the metadata.
  const keep = (key: string): void => {
    const meta = metaOf(object)
    if (before[key] === undefined) delete meta[key]
    else meta[key] = before[key]
  }
  kind.behaviour.narrow?.(subresource, object, old)
  keep("generation")
  if (subresource === "status") {
    for (const key of Object.keys(object))
      if (!["kind", "apiVersion", "metadata", "status"].includes(key)) delete object[key]
    for (const [key, value] of Object.entries(old)) if (key !== "status" && key !== "metadata") object[key] = value
    if (kind.behaviour.metaThroughStatus === true) keep("ownerReferences")
    else for (const key of ["labels", "annotations", "finalizers", "ownerReferences"]) keep(key)
  } else if (subresource !== "finalize" && subresource !== "binding") kind.prepareForUpdate(object, old)
  kind.behaviour.normalize?.(object)
  if (asString(metaOf(object).uid) === "") keep("uid")
  keep("creationTimestamp")
  if (before.deletionTimestamp !== undefined) keep("deletionTimestamp")
  if (before.deletionGracePeriodSeconds !== undefined && metaOf(object).deletionGracePeriodSeconds === undefined)
    keep("deletionGracePeriodSeconds")
}

function updateErrors(kind: Kind, object: JsonObject, old: JsonObject, context: RequestContext): FieldError[] {
  const meta = validateMetaUpdate(metaOf(object), metaOf(old), kind.meta.strictFinalizers)
  // The generic strategy and that of custom resources both check the metadata, so each error is reported twice, as in
  // Kubernetes.
  const twice = kind.builtin ? meta : [...meta, ...meta]
  if (!kind.builtin && object.kind !== kind.info.kind) return kind.validateUpdate(object, old, context)
  if (kind.builtin && ["status", "binding", "finalize"].includes(context.subresource)) return twice
  const narrowed = kind.behaviour.validateNarrowed?.(context.subresource, object, old)
  if (narrowed !== undefined) return [...twice, ...narrowed]
  return [...twice, ...kind.validateUpdate(object, old, context)]
}
