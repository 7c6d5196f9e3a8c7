// SPDX-License-Identifier: Apache-2.0
// A table cell with a list.

import type { ReactNode } from "react"

interface ListCellProps<T> {
  readonly of: readonly T[]
  readonly keyOf: (item: T) => string
  readonly children: (item: T) => ReactNode
}

export function ListCell<T>(props: ListCellProps<T>): ReactNode {
  return (
    <td>
      <CellList {...props} />
    </td>
  )
}

/** The list alone, for use inside a cell. */
export function CellList<T>({ of: items, keyOf, children }: ListCellProps<T>): ReactNode {
  if (items.length === 0) return <span className="hint">none</span>
  return (
    <ul className="plain">
      {items.map(item => (
        <li key={keyOf(item)}>{children(item)}</li>
      ))}
    </ul>
  )
}
