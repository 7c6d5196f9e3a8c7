// SPDX-License-Identifier: Apache-2.0
// The head of a table, by the names of its columns.

import type { ReactNode } from "react"

/** On a narrow page a row is a card, and each cell says by itself what it is: base.css reads these. */
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
