// SPDX-License-Identifier: Apache-2.0
// The search field of a list. Its text is in the address.

import { Search } from "lucide-react"
import type { ReactNode } from "react"
import { useSearchParameters } from "../shell/hash-location.js"

const NAME = "text"

/** The search text in lower case: searches ignore case. */
export function useSearchText(): string {
  const [search] = useSearchParameters()
  return (search.get(NAME) ?? "").toLowerCase()
}

export function SearchField({ label }: { readonly label: string }): ReactNode {
  const [search, change] = useSearchParameters()
  return (
    <label className="search-field">
      <span className="visually-hidden">{label}</span>
      <Search className="icon" aria-hidden={true} />
      <input
        type="search"
        placeholder={label}
        value={search.get(NAME) ?? ""}
        onChange={({ target }) => change(to => (target.value === "" ? to.delete(NAME) : to.set(NAME, target.value)))}
      />
    </label>
  )
}
