// SPDX-License-Identifier: Apache-2.0
// A table header with the names of the columns.

import type { ReactNode } from "react"

/** On narrow pages a row is a card and each cell shows the name of its column: base.css reads it from these variables. */
export function nameCells(head: HTMLTableSectionElement | null, columns: readonly { readonly name: string }[]): void {
  for (const [at, { name }] of columns.entries())
    head?.parentElement?.style.setProperty(`--column-${at + 1}`, JSON.stringify(name))
}

const named = (name: string): { readonly name: string } => ({ name })

export function Columns({ names }: { readonly names: readonly string[] }): ReactNode {
  return (
    <thead ref={head => nameCells(head, names.map(named))}>
      <tr>
        {names.map(name => (
          <th scope="col" key={name}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}
