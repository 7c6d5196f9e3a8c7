// SPDX-License-Identifier: Apache-2.0
// Applies one document with server-side apply and reports the change. If the user's own earlier command set a field, the
// file wins, as with kubectl; if a controller or another tool did, the conflict is reported and nothing changes.

import { isDeepStrictEqual } from "node:util"
import { type Api, ApiError } from "@merlon/control/kubernetes"
import { pathOf } from "../api/path.js"
import type { AnyObject, Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { type Fields, fieldsOf } from "../foreign.js"
import { adoptedFields, FIELD_MANAGER } from "./adopt.js"
import { withLastApplied } from "./last-applied.js"

export type DryRun = "none" | "client" | "server"
export type Change = "created" | "configured" | "unchanged"

export interface ApplyOptions {
  readonly dryRun: DryRun
  readonly forceConflicts: boolean
}

export interface Applied {
  readonly change: Change
  readonly object: AnyObject
}

const MAX_TRIES = 3
/** Commands that users type. A file that is applied overrides fields that they set by hand. */
const TYPED = /^(kubectl|merlonctl)(-|$)/

export async function applyObject(
  api: Api,
  resource: Resource,
  object: AnyObject,
  namespace: string | undefined,
  options: ApplyOptions,
): Promise<Applied> {
  const place = { namespace, name: object.metadata.name }
  const wanted = wantedObject(object, namespace)
  const before = await liveObject(api, pathOf(resource, place))
  if (options.dryRun === "client") {
    const change = before === undefined ? "created" : contains(before, object) ? "unchanged" : "configured"
    return { change, object: { ...wanted } }
  }
  if (before !== undefined && options.dryRun === "none") await adopt(api, pathOf(resource, place), before)
  const send = (force: boolean): Promise<unknown> =>
    api.request({
      method: "PATCH",
      path: pathOf(resource, place, {
        fieldManager: FIELD_MANAGER,
        force,
        dryRun: options.dryRun === "server" ? "All" : undefined,
      }),
      body: wanted,
      // JSON is valid YAML, and every server accepts this media type.
      contentType: "application/apply-patch+yaml",
    })
  const answer = await send(options.forceConflicts).catch((error: unknown) => {
    const managers = conflictingManagers(error)
    if (managers.length === 0) throw error
    if (managers.every(manager => TYPED.test(manager))) return send(true)
    throw new CommandError(
      "field-conflict",
      `${String((error as Error).message)}; let ${managers.map(manager => `\`${manager}\``).join(", ")} have these fields, or take them with \`--force-conflicts\``,
    )
  })
  const after = answer as AnyObject // the server stores objects with metadata
  return {
    change: before === undefined ? "created" : sameMeaning(before, after) ? "unchanged" : "configured",
    object: after,
  }
}

function wantedObject(object: AnyObject, namespace: string | undefined): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata
  const placed = namespace === undefined ? metadata : { ...metadata, namespace }
  return withLastApplied({ ...object, metadata: placed })
}

async function liveObject(api: Api, path: string): Promise<AnyObject | undefined> {
  try {
    return (await api.request({ method: "GET", path })) as AnyObject // an object from the server
  } catch (error) {
    if (error instanceof ApiError && error.reason === "NotFound") return undefined
    throw error
  }
}

async function adopt(api: Api, path: string, live: AnyObject): Promise<void> {
  let current: AnyObject | undefined = live
  for (let attempt = 1; current !== undefined; attempt++) {
    const managedFields = adoptedFields(current)
    if (managedFields === undefined) return
    const body = [
      { op: "replace", path: "/metadata/managedFields", value: managedFields },
      // The patch is rejected if another client changed the object meanwhile.
      { op: "replace", path: "/metadata/resourceVersion", value: current.metadata.resourceVersion },
    ]
    try {
      await api.request({ method: "PATCH", path, body, contentType: "application/json-patch+json" })
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "Conflict" || attempt === MAX_TRIES) throw error
      current = await liveObject(api, path)
    }
  }
}

function conflictingManagers(error: unknown): readonly string[] {
  if (!(error instanceof ApiError) || error.reason !== "Conflict") return []
  const managers = error.causes
    .filter(({ reason }) => reason === "FieldManagerConflict")
    .map(({ message }) => /"([^"]*)"/.exec(message)?.[1] ?? "")
  return [...new Set(managers)]
}

/** Whether two objects differ only in the server's bookkeeping and in status from controllers. */
function sameMeaning(before: AnyObject, after: AnyObject): boolean {
  return isDeepStrictEqual(meaning(before), meaning(after))
}

function meaning(object: AnyObject): unknown {
  const metadata = without(object.metadata, ["managedFields", "resourceVersion", "generation"])
  return {
    ...without(object, ["status"]),
    metadata: { ...metadata, annotations: fieldsOf(object.metadata.annotations) },
  }
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** Whether `whole` contains everything in `part`. Lists count as one value. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return isDeepStrictEqual(whole, part)
  if (typeof whole !== "object" || whole === null) return false
  const fields = new Map(Object.entries(whole))
  return Object.entries(part).every(([name, value]) => contains(fields.get(name), value))
}
