// SPDX-License-Identifier: Apache-2.0
// Tables for users: one for each kind with objects.

import { kindName, type Resource } from "../catalog/resource.js"
import { CommandError, EXIT } from "../exit.js"
import { ofServed } from "../lookup/not-found.js"
import type { Targets } from "../lookup/targets.js"
import { Columns } from "../output/columns.js"
import { headerOf, rowOf, type Table, type TableView } from "../output/table.js"
import type { Session } from "../session.js"
import { paint, paintError, print, printError } from "../terminal.js"
import type { GetFlags } from "./get-flags.js"
import { listTable, oneTable } from "./read-list.js"

interface Shown {
  readonly resource: Resource
  readonly table: Table
}

export async function getTables(session: Session, { resources, targets }: Targets, flags: GetFlags): Promise<void> {
  const shown: Shown[] = []
  if (targets.length > 0) {
    for (const target of targets) {
      try {
        const table = await oneTable(session, target, flags)
        if (table !== undefined) shown.push({ resource: target.resource, table })
      } catch (error) {
        if (!(error instanceof CommandError) || targets.length === 1) throw error
        printError(`${paintError.red("error:")} ${error.message}`)
        process.exitCode = EXIT.failed
      }
    }
  } else {
    const tables = ofServed(resources, async resource => ({
      resource,
      table: await listTable(session, resource, flags),
    }))
    shown.push(...(await tables))
  }
  const filled = joined(shown).filter(({ table }) => table.rows.length > 0)
  if (filled.length === 0 && targets.length === 0 && !flags.ignoreNotFound)
    printError(nothing(session, resources, flags))
  const kinds = new Set([...resources, ...targets.map(({ resource }) => resource)].map(kindName)).size
  if (filled.length === 0) return
  print(filled.map(({ resource, table }) => formatTable(table, viewOf(resource, flags, kinds > 1), flags)).join("\n"))
}

export function viewOf(resource: Resource, flags: GetFlags, several: boolean): TableView {
  return {
    wide: flags.output === "wide",
    withNamespace: flags.allNamespaces && resource.namespaced,
    withLabels: flags.showLabels,
    prefix: several ? `${kindName(resource)}/` : "",
  }
}

export function formatTable(table: Table, view: TableView, { headers }: GetFlags, columns = new Columns()): string {
  const rows = table.rows.map(row => rowOf(table, row, view))
  if (!headers) return columns.format(rows)
  const [head = "", ...body] = columns.format([headerOf(table, view), ...rows]).split(/(?<=\n)/)
  return `${paint.bold(head.slice(0, -1))}\n${body.join("")}`
}

/** Joins objects of one kind that were requested by name into one table. */
function joined(shown: readonly Shown[]): readonly Shown[] {
  const byKind = new Map<string, Shown>()
  for (const { resource, table } of shown) {
    const before = byKind.get(kindName(resource))
    const rows = [...(before?.table.rows ?? []), ...table.rows]
    byKind.set(kindName(resource), { resource, table: { ...(before?.table ?? table), rows } })
  }
  return [...byKind.values()]
}

function nothing(session: Session, resources: readonly Resource[], { allNamespaces }: GetFlags): string {
  const local = !allNamespaces && resources.some(({ namespaced }) => namespaced)
  return local ? `No resources found in ${session.namespace} namespace.` : "No resources found"
}
