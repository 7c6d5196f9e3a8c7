// SPDX-License-Identifier: Apache-2.0
// Deletion requested by clients: preconditions and admission come first. An object with finalizers or a grace period is
// only marked; it is removed with its last finalizer, or by the kubelet that ran it.

import type { DeleteOptions } from "../kinds/behaviour.js"
import { isDeleting, metaOf } from "../meta/object-meta.js"
import { conflict, forbiddenError, notFound, success } from "../meta/status.js"
import type { Entry } from "../store/store.js"
import { asString, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import type { RequestContext } from "./context.js"
import { groupKind, groupResource, type Kind, keyOf } from "./kind.js"
import { finished, marked } from "./marking.js"
import type { Registry } from "./registry.js"
import { withRevision } from "./revision.js"

export interface Deleted {
  /** The response: the object while something holds it, a Status once it is removed. */
  readonly answer: JsonObject
  readonly gone: boolean
}

export async function deleteObject(
  registry: Registry,
  kind: Kind,
  context: RequestContext,
  options: DeleteOptions,
  raw: JsonObject,
): Promise<Deleted> {
  const key = keyOf(kind.info, context.namespace, context.name)
  for (;;) {
    const entry = await registry.store.get(key)
    if (entry === undefined) throw notFound(groupResource(kind.info), context.name)
    const done = await attempt(registry, kind, key, entry, context, options, raw)
    if (done !== undefined) return done
  }
}

/** Returns undefined if another client changed the object first. */
async function attempt(
  registry: Registry,
  kind: Kind,
  key: string,
  entry: Entry,
  context: RequestContext,
  options: DeleteOptions,
  raw: JsonObject,
): Promise<Deleted | undefined> {
  const { store } = registry
  const current = registry.present(kind, entry)
  checkPreconditions(kind, current, options)
  if (kind.behaviour.immortal?.has(context.name) === true)
    throw forbiddenError(groupResource(kind.info), context.name, "this namespace may not be deleted")
  const request = { operation: "DELETE" as const, object: null, oldObject: current, options: raw }
  await registry.admission.mutate(kind, request, context)
  await registry.admission.validate(kind, request, context)
  const stored = marked(kind.behaviour, entry.object, options, registry.clock())
  const gone = finished(kind.behaviour, stored)
  const graceful = kind.behaviour.grace !== undefined
  const answerGone = (revision: number): JsonObject => {
    const last = graceful || isDeleting(entry.object) ? stored : entry.object
    if (kind.info.traits.returnDeleted) return withRevision(kind.fromStored(last), revision)
    return success({
      name: context.name,
      group: kind.info.group,
      kind: kind.info.plural,
      uid: asString(metaOf(current).uid),
    })
  }
  if (context.dryRun)
    return {
      answer: gone ? answerGone(entry.modRevision) : withRevision(kind.fromStored(stored), entry.modRevision),
      gone: false,
    }
  const value = stringify(stored)
  let last = entry.modRevision
  if ((!gone || graceful) && value !== entry.value) {
    // Kinds with a grace period are marked even if the period is zero: watchers see the mark before the removal.
    const revision = await store.commit([{ key, modRevision: last }], [{ key, value }])
    if (revision === undefined) return undefined
    last = revision
  }
  if (!gone) return { answer: withRevision(kind.fromStored(stored), last), gone }
  const end = await store.commit([{ key, modRevision: last }], [{ key, delete: true }])
  if (end === undefined) return undefined
  return { answer: answerGone(graceful ? end : entry.modRevision), gone }
}

function checkPreconditions(kind: Kind, current: JsonObject, { preconditions }: DeleteOptions): void {
  const meta = metaOf(current)
  const name = asString(meta.name)
  const uid = preconditions?.uid
  if (uid !== undefined && uid !== meta.uid)
    throw conflict(
      groupKind(kind.info),
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${asString(meta.uid)}). The object might have been deleted and then recreated`,
    )
  const version = preconditions?.resourceVersion
  if (version !== undefined && version !== meta.resourceVersion)
    throw conflict(
      groupKind(kind.info),
      name,
      `the ResourceVersion in the precondition (${version}) does not match the ResourceVersion in record (${asString(meta.resourceVersion)}). The object might have been modified`,
    )
}
