// SPDX-License-Identifier: Apache-2.0
// Maintains managedFields. An update makes its manager the owner of changed fields. An apply owns the fields it sets,
// reports conflicts with other owners, and removes fields that its manager applied before and that have no other owner.

import { ApiError } from "../../meta/status.js"
import { asObject, equal, type Json, type JsonObject } from "../../value.js"
import type { ApplyType } from "./apply-type.js"
import { FieldSet } from "./field-set.js"
import { refreshLastApplied, yielded } from "./last-applied.js"
import {
  decodeManaged,
  encodeManaged,
  isReset,
  type ManagedFields,
  type Owner,
  ownerKey,
  strip,
} from "./managed-fields.js"
import { compare, merge, removeItems, toFieldSet, validateTyped, withNamedFields } from "./typed.js"

export interface FieldManagement {
  readonly type: ApplyType
  /** The empty object of the kind, with which a new object is compared. */
  readonly empty: JsonObject
  readonly owner: Owner
  readonly now: string
  /** Keeps only the fields that the endpoint may change, such as `status`. */
  allowed(set: FieldSet): FieldSet
}

type Conflict = readonly [Owner, FieldSet]

function withManaged(object: JsonObject, managed: ManagedFields): JsonObject {
  const { managedFields: _, ...meta } = asObject(object.metadata)
  const entries = encodeManaged(managed)
  return { ...object, metadata: entries.length === 0 ? meta : { ...meta, managedFields: entries } }
}

function withoutManaged(object: JsonObject): JsonObject {
  const { managedFields: _, ...meta } = asObject(object.metadata)
  return { ...object, metadata: meta }
}

/** Returns the new object with its managedFields. The timestamps of an unchanged object are kept. */
export function trackUpdate(live: JsonObject | undefined, next: JsonObject, how: FieldManagement): JsonObject {
  const liveEntries = asObject(live?.metadata).managedFields
  const sent = asObject(next.metadata).managedFields
  const main = how.owner.subresource === ""
  const reset = main && sent !== undefined && isReset(sent)
  const own = main && !reset ? decodeManaged(sent) : undefined
  const managed: ManagedFields = reset
    ? new Map()
    : own !== undefined && own.size > 0
      ? own
      : (decodeManaged(liveEntries) ?? new Map())
  // An object without tracked fields (they were reset, or the object is older than tracking) stays untracked until a
  // client applies it.
  if (live !== undefined && managed.size === 0) return withManaged(next, managed)
  const before = withoutManaged(live ?? how.empty)
  const changes = compare(how.type, before, withoutManaged(next))
  const touched = how.allowed(changes.modified.union(changes.added))
  const removed = how.allowed(changes.removed)
  const key = ownerKey(how.owner)
  for (const [other, entry] of managed) {
    managed.set(other, { ...entry, set: entry.set.difference(touched).difference(removed) })
  }
  const taken = strip(touched)
  if (!taken.isEmpty())
    managed.set(key, { owner: how.owner, set: taken.union(managed.get(key)?.set ?? new FieldSet()), time: how.now })
  return keepTimestamps(live, withManaged(next, managed))
}

function keepTimestamps(live: JsonObject | undefined, next: JsonObject): JsonObject {
  if (live === undefined) return next
  const timeless = (object: JsonObject): JsonObject => {
    const meta = asObject(object.metadata)
    const entries = Array.isArray(meta.managedFields)
      ? meta.managedFields.map(entry => ({ ...asObject(entry), time: null }))
      : []
    return { ...object, metadata: { ...meta, managedFields: entries } }
  }
  return equal(timeless(live), timeless(next)) ? withManagedEntries(next, asObject(live.metadata).managedFields) : next
}

function withManagedEntries(object: JsonObject, entries: Json | undefined): JsonObject {
  return {
    ...object,
    metadata: { ...asObject(object.metadata), ...(entries === undefined ? {} : { managedFields: entries }) },
  }
}

/**
 * Returns the result of a server-side apply. The configuration must name its kind; `live` is undefined when the apply
 * creates the object.
 */
export function applyConfiguration(
  live: JsonObject | undefined,
  config: JsonObject,
  how: FieldManagement,
  force: boolean,
  title: string,
): JsonObject {
  const problems = validateTyped(how.type, config)
  if (problems.length > 0) {
    const text = problems.length === 1 ? problems[0] : `errors:\n${problems.map(line => `  ${line}`).join("\n")}`
    throw new ApiError(500, "", `failed to create typed patch object (${title}): ${text}`)
  }
  const base = live === undefined ? how.empty : withoutManaged(live)
  const managed = decodeManaged(asObject(live?.metadata).managedFields) ?? new Map()
  const key = ownerKey(how.owner)
  const last = managed.get(key)
  const merged = merge(how.type, base, config) as JsonObject
  const set = how.allowed(strip(toFieldSet(how.type, config)))
  managed.set(key, { owner: how.owner, set, time: last?.time ?? "" })
  const next = prune(how.type, merged, managed, last?.set)
  const changes = compare(how.type, base, next)
  const touched = changes.modified.union(changes.added)
  // An apply that changes nothing keeps its time.
  if (live === undefined || !touched.isEmpty() || !changes.removed.isEmpty())
    managed.set(key, { owner: how.owner, set, time: how.now })
  const conflicts: Conflict[] = []
  for (const [other, entry] of managed) {
    if (other === key) continue
    const clash = entry.set.intersection(touched)
    if (!clash.isEmpty()) conflicts.push([entry.owner, clash])
  }
  if (!force) rejectConflicts(conflicts, yielded(how.type, live, how.owner.manager))
  for (const [other, entry] of managed) {
    if (other !== key) {
      managed.set(other, { ...entry, set: entry.set.difference(touched).difference(changes.removed) })
    }
  }
  return keepTimestamps(live, withManaged(refreshLastApplied(live, next, config, how.owner.manager), managed))
}

/** Throws unless every conflict is about `allowed` fields. */
function rejectConflicts(conflicts: readonly Conflict[], allowed: FieldSet): void {
  const left = conflicts
    .map(([owner, set]): Conflict => [owner, set.difference(allowed)])
    .filter(([, set]) => !set.isEmpty())
  if (left.length > 0) throw conflictError(left)
}

function prune(type: ApplyType, merged: JsonObject, managed: ManagedFields, last: FieldSet | undefined): JsonObject {
  if (last === undefined || last.isEmpty()) return merged
  const named = (set: FieldSet): FieldSet => withNamedFields(type, set)
  const mergedSet = named(toFieldSet(type, merged))
  let pruned = removeItems(type, merged, named(last)) as JsonObject
  // Keep the fields that any manager owns, including this one.
  let owned = new FieldSet()
  for (const { set } of managed.values()) owned = owned.union(set)
  pruned = removeItems(
    type,
    merged,
    mergedSet.difference(named(toFieldSet(type, pruned)).union(named(owned))),
  ) as JsonObject
  // Keep the fields that this manager never owned.
  const dangling = mergedSet.difference(named(toFieldSet(type, pruned))).intersection(named(last))
  return removeItems(type, merged, dangling) as JsonObject
}

function printOwner(owner: Owner): string {
  const name =
    owner.subresource === ""
      ? JSON.stringify(owner.manager)
      : `${JSON.stringify(owner.manager)} with subresource ${JSON.stringify(owner.subresource)}`
  return owner.operation === "Update" ? `${name} using ${owner.apiVersion}` : name
}

function conflictError(conflicts: readonly Conflict[]): ApiError {
  const found = conflicts
    .map(([owner, set]): [string, string[]] => [printOwner(owner), set.paths()])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const causes = found.flatMap(([owner, paths]) =>
    paths.map((field): JsonObject => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  )
  const lines = found.map(([owner, paths]) =>
    causes.length === 1
      ? `conflict with ${owner}: ${paths[0]}`
      : `conflicts with ${owner}:\n${paths.map(path => `- ${path}`).join("\n")}`,
  )
  const head = `Apply failed with ${causes.length} conflict${causes.length === 1 ? "" : "s"}: `
  return new ApiError(409, "Conflict", head + lines.join("\n"), { causes })
}
