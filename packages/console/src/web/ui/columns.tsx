// SPDX-License-Identifier: Apache-2.0
// The head of a table, by the names of its columns.

import type { ReactNode } from "react"

export function Columns({ names }: { readonly names: readonly string[] }): ReactNode {
  return (
    <thead>
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
