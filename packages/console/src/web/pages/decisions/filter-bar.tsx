// SPDX-License-Identifier: Apache-2.0
// Filters and exclusions, each with a button that removes it.

import { X } from "lucide-react"
import type { FormEvent, ReactNode } from "react"
import { formText } from "../../ui/form-text.js"
import { add, remove, TRAITS, type Trait, type Wanted } from "./decision-filter.js"

interface FilterBarProps {
  readonly wanted: readonly Wanted[]
  readonly change: (change: (to: URLSearchParams) => void) => void
}

export function FilterBar({ wanted, change }: FilterBarProps): ReactNode {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [trait, how, pattern] = ["trait", "how", "pattern"].map(name => formText(form, name))
    change(to => add(to, { trait: traitOf(trait), not: how === "not", pattern: pattern ?? "" }))
    event.currentTarget.reset()
  }
  const refusedOnly = wanted.some(({ trait, pattern }) => trait === "verdict" && pattern === "deny")
  const refused: Wanted = { trait: "verdict", not: false, pattern: "deny" }
  return (
    <>
      <form className="bar" onSubmit={submit} aria-label="Filter">
        <label>
          Field
          <select name="trait" defaultValue="path">
            {TRAITS.map(trait => (
              <option key={trait}>{trait}</option>
            ))}
          </select>
        </label>
        <label>
          Keep
          <select name="how">
            <option value="is">only</option>
            <option value="not">all but</option>
          </select>
        </label>
        <label>
          Value (* matches any text)
          <input name="pattern" required autoComplete="off" />
        </label>
        <button type="submit">Add filter</button>
        <button
          type="button"
          aria-pressed={refusedOnly}
          onClick={() => change(to => (refusedOnly ? remove(to, refused) : add(to, refused)))}
        >
          Denied only
        </button>
      </form>
      {wanted.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {wanted.map(one => (
            <li key={`${one.trait}${one.not}${one.pattern}`}>
              <button type="button" onClick={() => change(to => remove(to, one))}>
                {one.trait} {one.not ? "is not" : "is"} {one.pattern} <X className="icon" aria-hidden={true} />
                <span className="unseen"> – remove</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function traitOf(text: string | undefined): Trait {
  return TRAITS.find(trait => trait === text) ?? "path"
}
