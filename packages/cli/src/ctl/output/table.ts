// SPDX-License-Identifier: Apache-2.0
// The server's Table (meta.k8s.io/v1) as rows of text. The server knows its kinds best, so merlonctl, like kubectl,
// shows the server's columns.

import { fieldsOf, listOf, textOf } from "../foreign.js"
import { visible } from "../terminal.js"

export const TABLE_ACCEPT =
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"

export interface Table {
  readonly columns: readonly { readonly name: string; readonly priority: number }[]
  readonly rows: readonly TableRow[]
  readonly resourceVersion: string
  readonly next: string | undefined
}

export interface TableRow {
  readonly cells: readonly unknown[]
  readonly metadata: { readonly [field: string]: unknown }
}

export interface TableView {
  readonly wide: boolean
  readonly withNamespace: boolean
  readonly withLabels: boolean
  /** `kind.group/` before each name if several kinds are shown. */
  readonly prefix: string
}

/** Undefined if the answer is no Table. */
export function readTable(value: unknown): Table | undefined {
  const { kind, columnDefinitions, rows, metadata } = fieldsOf(value)
  if (kind !== "Table") return undefined
  const { resourceVersion, continue: next } = fieldsOf(metadata)
  return {
    columns: listOf(columnDefinitions).map(definition => {
      const { name, priority } = fieldsOf(definition)
      return { name: textOf(name) ?? "", priority: typeof priority === "number" ? priority : 0 }
    }),
    rows: listOf(rows).map(row => {
      const { cells, object } = fieldsOf(row)
      return { cells: listOf(cells), metadata: fieldsOf(fieldsOf(object).metadata) }
    }),
    resourceVersion: textOf(resourceVersion) ?? "",
    next: typeof next === "string" && next !== "" ? next : undefined,
  }
}

export function headerOf({ columns }: Pick<Table, "columns">, view: TableView): readonly string[] {
  return [
    ...(view.withNamespace ? ["NAMESPACE"] : []),
    ...columns.filter(({ priority }) => view.wide || priority === 0).map(({ name }) => visible(name.toUpperCase())),
    ...(view.withLabels ? ["LABELS"] : []),
  ]
}

export function rowOf({ columns }: Pick<Table, "columns">, row: TableRow, view: TableView): readonly string[] {
  const { namespace, labels } = row.metadata
  const cells = columns.flatMap(({ priority }, index) => {
    if (!view.wide && priority !== 0) return []
    const text = cellText(row.cells[index])
    return [index === 0 ? view.prefix + text : text]
  })
  return [
    ...(view.withNamespace ? [visible(textOf(namespace) ?? "")] : []),
    ...cells,
    ...(view.withLabels ? [labelText(labels)] : []),
  ]
}

/** Only the first line, because a cell is one line. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return ""
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const end = text.search(/[\f\n\r]/)
  return end === -1 ? visible(text) : `${visible(text.slice(0, end))}...`
}

function labelText(labels: unknown): string {
  const pairs = Object.entries(fieldsOf(labels)).map(([name, value]) => `${name}=${String(value)}`)
  return pairs.length === 0 ? "<none>" : visible(pairs.sort().join(","))
}
