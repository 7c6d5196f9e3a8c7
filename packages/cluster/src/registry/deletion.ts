// SPDX-License-Identifier: Apache-2.0
//
// Deletion: preconditions, grace for scheduled pods, finalizers and propagation policies. An object that something
// still holds only gets its deletionTimestamp; the rest is done by whoever removes the last finalizer.

import { isDeleting, metaOf } from "../meta/object-meta.js"
import { conflict, forbiddenError, notFound, success } from "../meta/status.js"
import type { Entry } from "../store/store.js"
import { asObject, asString, asStrings, clone, dig, type JsonObject } from "../value.js"
import { printTime } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"
import type { RequestContext } from "./context.js"
import { groupKind, groupResource, type Kind, keyOf } from "./kind.js"
import { finished, type Registry, withRevision } from "./registry.js"

export interface DeleteOptions {
  gracePeriodSeconds?: number
  propagationPolicy?: string
  orphanDependents?: boolean
  preconditions?: { uid?: string; resourceVersion?: string }
}

export interface Deleted {
  /** What the client is answered: the object while something holds it, a Status once it is gone. */
  answer: JsonObject
  gone: boolean
}

const IMMORTAL = new Set(["default", "kube-system", "kube-public"])
const ORPHAN = "orphan"
const FOREGROUND = "foregroundDeletion"
export const CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

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

async function attempt(
  registry: Registry,
  kind: Kind,
  key: string,
  entry: Entry,
  context: RequestContext,
  options: DeleteOptions,
  raw: JsonObject,
): Promise<Deleted | undefined> {
  const current = registry.present(kind, entry)
  checkPreconditions(kind, current, options)
  if (kind.info.kind === "Namespace" && kind.info.group === "" && IMMORTAL.has(context.name))
    throw forbiddenError(groupResource(kind.info), context.name, "this namespace may not be deleted")
  const request = { operation: "DELETE" as const, object: null, oldObject: current, options: raw }
  await registry.admission.mutate(kind, request, context)
  await registry.admission.validate(kind, request, context)
  const stored = mark(kind, entry.object, options, registry.clock())
  const gone = finished(kind, stored)
  const answerGone = (): JsonObject => {
    const deleted = withRevision(kind.fromStored(isDeleting(entry.object) ? stored : entry.object), entry.modRevision)
    if (kind.info.traits.returnDeleted) return deleted
    return success({
      name: context.name,
      group: kind.info.group,
      kind: kind.info.plural,
      uid: asString(metaOf(current).uid),
    })
  }
  if (context.dryRun)
    return { answer: gone ? answerGone() : withRevision(kind.fromStored(stored), entry.modRevision), gone: false }
  const value = stringify(stored)
  if (!gone && value === entry.value) return { answer: current, gone: false }
  const revision = await registry.store.commit(
    [{ key, modRevision: entry.modRevision }],
    [gone ? { key, delete: true } : { key, value }],
  )
  if (revision === undefined) return undefined
  return gone ? { answer: answerGone(), gone } : { answer: withRevision(kind.fromStored(stored), revision), gone }
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

/** The stored object as deletion leaves it. */
function mark(kind: Kind, stored: JsonObject, options: DeleteOptions, clock: number): JsonObject {
  const object = clone(stored)
  const meta = metaOf(object)
  object.metadata = meta
  const time = (seconds: number): string =>
    printTime({ micros: BigInt(Math.floor(clock)) * 1000n + BigInt(seconds) * 1_000_000n })
  const finalizers = propagationFinalizers(asStrings(meta.finalizers), options)
  if (finalizers.length > 0) meta.finalizers = finalizers
  else delete meta.finalizers
  if (kind.info.kind === "Namespace" && kind.info.group === "") {
    if (meta.deletionTimestamp === undefined) meta.deletionTimestamp = time(0)
    object.status = { ...asObject(object.status), phase: "Terminating" }
    return object
  }
  if (kind.info.kind === "CustomResourceDefinition") {
    if (meta.deletionTimestamp === undefined) {
      meta.deletionTimestamp = time(0)
      object.status = withCondition(
        asObject(object.status),
        "Terminating",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        time(0),
      )
    }
    if (!finalizers.includes(CRD_CLEANUP)) meta.finalizers = [...finalizers, CRD_CLEANUP]
    return object
  }
  const grace = kind.info.kind === "Pod" ? podGrace(object, options) : 0
  const earlier = meta.deletionGracePeriodSeconds
  if (meta.deletionTimestamp === undefined) {
    meta.deletionTimestamp = time(grace)
    meta.deletionGracePeriodSeconds = grace
    if (typeof meta.generation === "number" && meta.generation > 0) meta.generation++
  } else if (typeof earlier === "number" && grace < earlier) {
    meta.deletionTimestamp = time(grace)
    meta.deletionGracePeriodSeconds = grace
  }
  return object
}

function podGrace(pod: JsonObject, options: DeleteOptions): number {
  const spec = asObject(pod.spec)
  const own = typeof spec.terminationGracePeriodSeconds === "number" ? spec.terminationGracePeriodSeconds : 30
  const asked = options.gracePeriodSeconds ?? own
  // A pod that no node runs, or that has ended, has nobody to wait for.
  const phase = asString(dig(pod, "status", "phase"))
  if (asString(spec.nodeName) === "" || phase === "Failed" || phase === "Succeeded") return 0
  return Math.max(asked, 0)
}

function propagationFinalizers(existing: readonly string[], options: DeleteOptions): string[] {
  const rest = existing.filter(name => name !== ORPHAN && name !== FOREGROUND)
  if (options.orphanDependents === true || options.propagationPolicy === "Orphan") return [...rest, ORPHAN]
  if (options.propagationPolicy === "Foreground") return [...rest, FOREGROUND]
  if (options.orphanDependents === false || options.propagationPolicy === "Background") return rest
  return [...existing]
}

export function withCondition(
  status: JsonObject,
  type: string,
  reason: string,
  message: string,
  time: string,
  value = "True",
): JsonObject {
  const conditions = Array.isArray(status.conditions) ? status.conditions.map(asObject) : []
  const before = conditions.find(condition => condition.type === type)
  const next: JsonObject = {
    type,
    status: value,
    lastTransitionTime: before?.status === value ? (before.lastTransitionTime ?? time) : time,
    reason,
    message,
  }
  return {
    ...status,
    conditions:
      before === undefined
        ? [...conditions, next]
        : conditions.map(condition => (condition === before ? next : condition)),
  }
}
