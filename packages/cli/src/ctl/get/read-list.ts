// SPDX-License-Identifier: Apache-2.0
// The objects or tables of one kind, page by page, and single ones by name.

import { ApiError, type Query } from "@merlon/control/kubernetes"
import { pathOf } from "../api/path.js"
import { type AnyObject, apiVersionOf, type Resource } from "../catalog/resource.js"
import { isUnknownKind, notFound, unknownKind } from "../lookup/not-found.js"
import type { Target } from "../lookup/targets.js"
import { readTable, TABLE_ACCEPT, type Table } from "../output/table.js"
import type { Session } from "../session.js"
import type { GetFlags } from "./get-flags.js"

const PAGE = 500

/** Undefined for all namespaces. */
export function namespaceFor(session: Session, resource: Resource, { allNamespaces }: GetFlags): string | undefined {
  return resource.namespaced && !allNamespaces ? session.namespace : undefined
}

export function filters({ selector, fieldSelector }: GetFlags): Query {
  return { labelSelector: selector, fieldSelector }
}

export async function listTable(session: Session, resource: Resource, flags: GetFlags): Promise<Table> {
  const namespace = namespaceFor(session, resource, flags)
  let all: Table | undefined
  do {
    const query = { ...filters(flags), limit: PAGE, continue: all?.next }
    const page = tableOf(await ask(session, resource, pathOf(resource, { namespace }, query), TABLE_ACCEPT))
    all = all === undefined ? page : { ...page, rows: [...all.rows, ...page.rows] }
  } while (all.next !== undefined)
  return all
}

export async function listObjects(
  session: Session,
  resource: Resource,
  flags: GetFlags,
): Promise<{ readonly items: readonly AnyObject[]; readonly resourceVersion: string }> {
  const namespace = namespaceFor(session, resource, flags)
  const items: AnyObject[] = []
  let next: string | undefined
  let resourceVersion = ""
  do {
    const query = { ...filters(flags), limit: PAGE, continue: next }
    const page = (await ask(session, resource, pathOf(resource, { namespace }, query))) as {
      items?: AnyObject[] | null
      metadata?: { continue?: string; resourceVersion?: string }
    } // a list from the server
    // Items of a list have no `kind` and `apiVersion`.
    for (const item of page.items ?? [])
      items.push({ ...item, apiVersion: apiVersionOf(resource), kind: resource.kind })
    next = page.metadata?.continue === "" ? undefined : page.metadata?.continue
    resourceVersion = page.metadata?.resourceVersion ?? ""
  } while (next !== undefined)
  return { items, resourceVersion }
}

/** Undefined if it does not exist and that is ignored. */
export async function oneTable(session: Session, target: Target, flags: GetFlags): Promise<Table | undefined> {
  const value = await askOne(session, target, flags, TABLE_ACCEPT)
  return value === undefined ? undefined : tableOf(value)
}

export async function oneDocument(session: Session, target: Target, flags: GetFlags): Promise<AnyObject | undefined> {
  return (await askOne(session, target, flags)) as AnyObject | undefined // an object from the server
}

async function askOne(session: Session, target: Target, flags: GetFlags, accept?: string): Promise<unknown> {
  try {
    return await ask(session, target.resource, pathOf(target.resource, target), accept)
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "NotFound") throw error
    if (flags.ignoreNotFound) return undefined
    throw await notFound(session, target.resource, target.name, target.namespace)
  }
}

async function ask(session: Session, resource: Resource, path: string, accept?: string): Promise<unknown> {
  try {
    return await session.api.request({ method: "GET", path, ...(accept === undefined ? {} : { accept }) })
  } catch (error) {
    throw isUnknownKind(error) ? unknownKind(resource, session.names) : error
  }
}

function tableOf(value: unknown): Table {
  const table = readTable(value)
  if (table === undefined) {
    throw new ApiError(0, "api-bad-response", "the server makes no tables of this kind; use `-o yaml` or `-o name`")
  }
  return table
}
