// SPDX-License-Identifier: Apache-2.0
//
// metadata.managedFields: which manager owns which fields. Read from an object, changed by updates and applies, written
// back in Kubernetes' order. An owner is identified by manager, operation, apiVersion and subresource.

import { asArray, asObject, asString, isObject, type Json, type JsonObject } from "../../value.js"
import { FieldSet } from "./field-set.js"

export interface Owner {
  readonly manager: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  readonly subresource: string
}

export interface Managed {
  readonly owner: Owner
  readonly set: FieldSet
  readonly time: string
}

export type ManagedFields = Map<string, Managed>

/** Beyond this number, the entries of the oldest update managers are merged. */
const MAX_UPDATE_MANAGERS = 10

export function ownerKey(owner: Owner): string {
  return JSON.stringify([owner.manager, owner.operation, owner.apiVersion, owner.subresource])
}

/** Returns undefined when the entries are invalid. */
export function decodeManaged(entries: Json | undefined): ManagedFields | undefined {
  const out: ManagedFields = new Map()
  for (const item of asArray(entries)) {
    const entry = asObject(item)
    const operation = asString(entry.operation)
    if (
      (operation !== "Apply" && operation !== "Update") ||
      entry.fieldsType !== "FieldsV1" ||
      !isObject(entry.fieldsV1)
    )
      return undefined
    const owner: Owner = {
      manager: asString(entry.manager),
      operation,
      apiVersion: asString(entry.apiVersion),
      subresource: asString(entry.subresource),
    }
    const key = ownerKey(owner)
    const set = FieldSet.fromJson(entry.fieldsV1)
    out.set(key, { owner, set: out.get(key)?.set.union(set) ?? set, time: asString(entry.time) })
  }
  return out
}

export function isReset(entries: Json | undefined): boolean {
  const list = asArray(entries)
  if (Array.isArray(entries) && list.length === 0) return true
  return list.length === 1 && Object.keys(asObject(list[0])).length === 0
}

export function encodeManaged(managed: ManagedFields): JsonObject[] {
  const entries = [...capped(managed).values()].filter(({ set }) => !set.isEmpty())
  entries.sort(
    (a, b) =>
      order(a.owner.operation, b.owner.operation) ||
      order(a.time, b.time) ||
      order(a.owner.manager, b.owner.manager) ||
      order(a.owner.apiVersion, b.owner.apiVersion) ||
      order(a.owner.subresource, b.owner.subresource),
  )
  return entries.map(({ owner, set, time }) => {
    const entry: JsonObject = { manager: owner.manager, operation: owner.operation, apiVersion: owner.apiVersion }
    if (time !== "") entry.time = time
    entry.fieldsType = "FieldsV1"
    entry.fieldsV1 = set.toJson()
    if (owner.subresource !== "") entry.subresource = owner.subresource
    return entry
  })
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function capped(managed: ManagedFields): ManagedFields {
  const updates = [...managed.values()]
    .filter(({ owner }) => owner.operation === "Update")
    .sort((a, b) => order(a.time, b.time))
  const excess = updates.length - MAX_UPDATE_MANAGERS
  if (excess <= 0) return managed
  const out: ManagedFields = new Map(managed)
  for (const old of updates.slice(0, excess + 1)) {
    out.delete(ownerKey(old.owner))
    const owner: Owner = {
      manager: "ancient-changes",
      operation: "Update",
      apiVersion: old.owner.apiVersion,
      subresource: "",
    }
    const key = ownerKey(owner)
    out.set(key, { owner, set: out.get(key)?.set.union(old.set) ?? old.set, time: old.time })
  }
  return out
}

/** Fields that no manager owns: identity and bookkeeping. */
const stripped = FieldSet.fromJson({
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    "f:name": {},
    "f:namespace": {},
    "f:creationTimestamp": {},
    "f:deletionTimestamp": {},
    "f:deletionGracePeriodSeconds": {},
    "f:selfLink": {},
    "f:uid": {},
    "f:generation": {},
    "f:managedFields": {},
    "f:resourceVersion": {},
  },
})

export function strip(set: FieldSet): FieldSet {
  return set.difference(stripped)
}
