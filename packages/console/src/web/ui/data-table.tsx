// SPDX-License-Identifier: Apache-2.0
// A table with sortable columns. Clicking a column's header sorts by it: first in the column's usual direction, then in the
// other one, then in the original order again. Only the first rows are drawn; the page's search finds the others.

import { type ColumnDef, createSortedRowModel, rowSortingFeature, tableFeatures, useTable } from "@tanstack/react-table"
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react"
import { type ReactNode, useMemo } from "react"
import { nameCells } from "./columns.js"

export interface Column<T> {
  readonly name: string
  readonly cell: (row: T) => ReactNode
  /** The value that the column sorts by; a column without it is not sortable. */
  readonly by?: (row: T) => string | number | undefined
  /** A `number` column is aligned right, and sorts the largest first. */
  readonly kind?: "number" | "tight"
}

interface DataTableProps<T> {
  readonly label?: string
  /** The cells of the first column are row headers. */
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** How many rows are drawn (default: all). */
  readonly most?: number
  readonly className?: string
}

/** TanStack requires records as rows; the rows of this table may be of any type. */
interface Wrapped<T> {
  readonly row: T
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() })
/** Sorts `web-2` before `web-10`. */
const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" })

export function DataTable<T>({ label, columns, rows, keyOf, most, className = "" }: DataTableProps<T>): ReactNode {
  const data = useMemo(() => rows.map(row => ({ row })), [rows])
  const defined = columns.map(
    ({ name, by, kind }): ColumnDef<typeof features, Wrapped<T>> => ({
      ...{ id: name, accessorFn: ({ row }) => by?.(row), enableSorting: by !== undefined },
      ...{ sortDescFirst: kind === "number", sortUndefined: "last" },
      sortFn: (a, b) => compare(a.getValue(name), b.getValue(name)),
    }),
  )
  const table = useTable<typeof features, Wrapped<T>>({
    features,
    columns: defined,
    data,
    getRowId: ({ row }) => keyOf(row),
    enableMultiSort: false,
  })
  return (
    <table className={`sortable ${className}`} aria-label={label}>
      <thead ref={head => nameCells(head, columns)}>
        <tr>
          {columns.map(({ name, kind }) => {
            const column = table.getColumn(name)
            const sorted = column?.getIsSorted() || undefined
            return (
              <th key={name} scope="col" className={kind} aria-sort={sorted && SORTS[sorted].word}>
                {column?.getCanSort() ? (
                  <SortButton name={name} sorted={sorted} sort={column.getToggleSortingHandler()} />
                ) : (
                  name
                )}
              </th>
            )
          })}
        </tr>
      </thead>
      <tbody>
        {table
          .getRowModel()
          .rows.slice(0, most)
          .map(({ id, original: { row } }) => (
            <tr key={id}>
              {columns.map(({ name, cell, kind }, at) =>
                at === 0 ? (
                  <th key={name} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} className={kind}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
      </tbody>
    </table>
  )
}

/** Compares numbers by value, everything else as text. */
function compare(a: unknown, b: unknown): number {
  return typeof a === "number" && typeof b === "number" ? a - b : order.compare(String(a), String(b))
}

const SORTS = {
  asc: { word: "ascending", Icon: ArrowUp },
  desc: { word: "descending", Icon: ArrowDown },
} as const

interface SortButtonProps {
  readonly name: string
  readonly sorted: keyof typeof SORTS | undefined
  readonly sort: ((event: unknown) => void) | undefined
}

function SortButton({ name, sorted, sort }: SortButtonProps): ReactNode {
  const { Icon } = sorted === undefined ? { Icon: ChevronsUpDown } : SORTS[sorted]
  return (
    <button type="button" className="sort" onClick={sort}>
      {name}
      <Icon className="icon" aria-hidden={true} />
    </button>
  )
}
