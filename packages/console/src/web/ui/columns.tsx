// SPDX-License-Identifier: Apache-2.0
// The head of a table, by the names of its columns.

import type { ReactNode } from "react"

/** On a narrow page a row is a card, and each cell says by itself what it is: base.css reads these. */
function nameCells(head: HTMLTableSectionElement | null, names: readonly string[]): void {
  for (const [at, name] of names.entries())
    head?.parentElement?.style.setProperty(`--column-${at + 1}`, JSON.stringify(name))
}

export function Columns({ names }: { readonly names: readonly string[] }): ReactNode {
  return (
    <thead ref={head => nameCells(head, names)}>
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
