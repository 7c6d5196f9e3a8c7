// SPDX-License-Identifier: Apache-2.0
//
// The steps of the write pipeline in which creation differs from an update.

import { randomUUID } from "node:crypto"
import { isDeleting, metaOf, validateMeta } from "../meta/object-meta.js"
import {
  type ApiError,
  alreadyExists,
  badRequest,
  conflict,
  forbiddenError,
  internal,
  notFound,
} from "../meta/status.js"
import type { Entry, Store } from "../store/store.js"
import { asString, clone, type JsonObject } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"
import type { RequestContext } from "./context.js"
import { groupResource, type Kind, keyOf } from "./kind.js"
import { withoutRevision, withRevision } from "./revision.js"
import type { WriteEnvironment, WriteRequest, WriteSteps } from "./write-pipeline.js"

/** The alphabet of generated names, without vowels, so that they contain no words. */
const RANDOM = "bcdfghjklmnpqrstvwxz2456789"

export function creationSteps(
  { store, clock }: WriteEnvironment,
  { kind, context }: WriteRequest,
  namespaces: Kind,
  wanted: JsonObject,
): WriteSteps {
  return {
    operation: "CREATE",
    current: undefined,
    async propose() {
      const object = clone(wanted)
      const meta = metaOf(object)
      object.metadata = meta
      if (kind.info.namespaced) meta.namespace = context.namespace
      if (asString(meta.name) === "" && asString(meta.generateName) !== "")
        meta.name = generateName(asString(meta.generateName))
      if (kind.info.namespaced) await checkNamespace(store, namespaces, kind, context, asString(meta.name))
      return object
    },
    prepare(object) {
      const meta = metaOf(object)
      // Fail closed: the namespace of the request was authorized, and a webhook must not change it.
      if (kind.info.namespaced && meta.namespace !== context.namespace)
        throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
      for (const key of ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]) delete meta[key]
      meta.uid = randomUUID()
      meta.creationTimestamp = now(clock)
      kind.prepareForCreate(object)
      kind.behaviour.normalize?.(object)
    },
    errors: object => [...validateMeta(metaOf(object), kind.meta), ...kind.validate(object, context)],
    key: object => keyOf(kind.info, context.namespace, asString(metaOf(object).name)),
    checkLast(object) {
      const version = asString(metaOf(object).resourceVersion)
      if (version !== "" && version !== "0")
        throw internal("resourceVersion should not be set on objects to be created")
      kind.behaviour.advise?.(object, context)
    },
    async commit(key, stored, addresses) {
      const name = asString(metaOf(stored).name)
      const existing = await store.get(key)
      if (existing !== undefined) throw existsError(kind, existing, name)
      if (context.dryRun) return withoutRevision(kind.fromStored(stored))
      const revision = await store.commit(
        [{ key, modRevision: 0 }, ...addresses.compares],
        [...addresses.writes, { key, value: stringify(stored) }],
      )
      if (revision !== undefined) return withRevision(kind.fromStored(stored), revision)
      const winner = await store.get(key)
      // Another object took an address, but the name is still free: try again.
      if (winner === undefined && addresses.compares.length > 0) return undefined
      throw existsError(kind, winner, name)
    },
  }
}

/**
 * Prepares the object of an update that creates it. It has no version yet; a uid would refer to an object that does not
 * exist.
 */
export function asNew(kind: Kind, object: JsonObject): JsonObject {
  const meta = metaOf(object)
  const version = asString(meta.resourceVersion)
  if (!/^\d*$/.test(version)) throw internal(`strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`)
  const uid = asString(meta.uid)
  if (uid !== "")
    throw conflict(
      groupResource(kind.info),
      asString(meta.name),
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  return withoutRevision(object)
}

function generateName(base: string): string {
  let suffix = ""
  for (let i = 0; i < 5; i++) suffix += RANDOM[Math.floor(Math.random() * RANDOM.length)]
  return `${base.slice(0, 58)}${suffix}`
}

async function checkNamespace(
  store: Store,
  namespaces: Kind,
  kind: Kind,
  { namespace }: RequestContext,
  name: string,
): Promise<void> {
  const entry = await store.get(keyOf(namespaces.info, "", namespace))
  if (entry === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace)
  if (!isDeleting(entry.object)) return
  throw forbiddenError(
    groupResource(kind.info),
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  )
}

function existsError(kind: Kind, entry: Entry | undefined, name: string): ApiError {
  const deleting = entry !== undefined && isDeleting(entry.object)
  return alreadyExists(groupResource(kind.info), name, deleting ? "object is being deleted: " : "")
}
