// SPDX-License-Identifier: Apache-2.0
// Watches changes. If the server ends a watch, it continues from the last revision. If the server no longer has that
// revision, it starts again with a list. Runs until the process ends.

import { ApiError, statusError } from "@merlon/control/kubernetes"
import { pathOf } from "../api/path.js"
import { type AnyObject, kindName, type Resource } from "../catalog/resource.js"
import { usageError } from "../exit.js"
import { fieldsOf, textOf } from "../foreign.js"
import type { Targets } from "../lookup/targets.js"
import { Columns } from "../output/columns.js"
import { formatObject, withoutManagedFields } from "../output/objects.js"
import { readTable, rowOf, TABLE_ACCEPT, type Table } from "../output/table.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"
import type { GetFlags } from "./get-flags.js"
import { formatTable, viewOf } from "./get-tables.js"
import { filters, listObjects, listTable, namespaceFor } from "./read-list.js"
import { eventOf } from "./watch-event.js"

const PAUSE_MS = 1_000

export async function watchTable(session: Session, chosen: Targets, flags: GetFlags): Promise<void> {
  const { resource, narrowed } = oneKind(session, chosen, flags)
  const view = viewOf(resource, narrowed, false)
  const columns = new Columns()
  let columnsOf: Pick<Table, "columns"> = { columns: [] }
  await follow({
    session,
    resource,
    flags: narrowed,
    accept: TABLE_ACCEPT,
    async begin(again) {
      const table = await listTable(session, resource, narrowed)
      columnsOf = table
      if (table.rows.length > 0)
        print(formatTable(table, view, { ...narrowed, headers: !again && narrowed.headers }, columns))
      return table.resourceVersion
    },
    event(object) {
      const table = readTable(object)
      if (table === undefined) return undefined
      if (table.columns.length > 0) columnsOf = table
      const rows = table.rows.map(row => rowOf(columnsOf, row, view))
      if (rows.length > 0) print(columns.format(rows))
      return textOf(table.rows.at(-1)?.metadata.resourceVersion) || table.resourceVersion || undefined
    },
  })
}

export async function watchObjects(session: Session, chosen: Targets, flags: GetFlags): Promise<void> {
  const { resource, narrowed } = oneKind(session, chosen, flags)
  const show = (object: AnyObject): void => {
    const plain = flags.showManagedFields ? object : withoutManagedFields(object)
    if (flags.output === "yaml") print(`---\n${formatObject("yaml", plain)}`)
    else print(flags.output === "json" ? formatObject("json", plain) : `${kindName(resource)}/${object.metadata.name}`)
  }
  await follow({
    session,
    resource,
    flags: narrowed,
    accept: "application/json",
    async begin() {
      const { items, resourceVersion } = await listObjects(session, resource, narrowed)
      for (const item of items) show(item)
      return resourceVersion
    },
    event(value) {
      const object = value as AnyObject // a watch event contains an object
      show(object)
      return versionOf(object)
    },
  })
}

interface Following {
  readonly session: Session
  readonly resource: Resource
  readonly flags: GetFlags
  readonly accept: string
  /** Shows the current objects and returns their revision. */
  readonly begin: (again: boolean) => Promise<string>
  /** Shows a change and returns its revision. */
  readonly event: (object: unknown) => string | undefined
}

async function follow({ session, resource, flags, accept, begin, event }: Following): Promise<never> {
  const namespace = namespaceFor(session, resource, flags)
  let version = await begin(false)
  for (;;) {
    const query = { ...filters(flags), watch: 1, resourceVersion: version, allowWatchBookmarks: true }
    try {
      const path = pathOf(resource, { namespace }, query)
      for await (const line of session.api.lines({ method: "GET", path, accept }, new AbortController().signal)) {
        const { type, object } = eventOf(line)
        if (type === "ERROR") throw statusError(0, object)
        if (type === "BOOKMARK") version = versionOf(object) ?? version
        else version = event(object) ?? version
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 410) throw error
      version = await begin(true)
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

function versionOf(object: unknown): string | undefined {
  return textOf(fieldsOf(fieldsOf(object).metadata).resourceVersion) || undefined
}

/** A watch has one kind. A name is a field selector. */
function oneKind(session: Session, { resources, targets }: Targets, flags: GetFlags) {
  const [target, secondTarget] = targets
  const [resource, secondResource] = target === undefined ? resources : [target.resource]
  if (resource === undefined || secondResource !== undefined || secondTarget !== undefined) {
    throw usageError("a watch is of one kind, with one name at most")
  }
  if (target === undefined) return { resource, narrowed: flags }
  const fieldSelector = [flags.fieldSelector, `metadata.name=${target.name}`]
    .filter(part => part !== undefined)
    .join(",")
  return { resource, narrowed: { ...flags, fieldSelector, namespace: session.namespace } }
}
