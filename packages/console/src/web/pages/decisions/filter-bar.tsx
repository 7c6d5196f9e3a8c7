// SPDX-License-Identifier: Apache-2.0
// One search box for all filters, with completion, and the active filters, each with a button that removes it.

import { Search, X } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useId, useState } from "react"
import type { Answer, Decision } from "../../api/answers.js"
import { add, remove, TRAITS, type Wanted } from "./decision-filter.js"
import { completionsOf, knownValues, typedFilters } from "./filter-text.js"

interface FilterBarProps {
  readonly wanted: readonly Wanted[]
  readonly decisions: readonly Answer<Decision>[]
  readonly change: (change: (to: URLSearchParams) => void) => void
  readonly before: ReactNode
  readonly children: ReactNode
}

const DENIED: Wanted = { trait: "verdict", not: false, pattern: "deny" }

export function FilterBar({ wanted, decisions, change, before, children }: FilterBarProps): ReactNode {
  const addAll = (found: readonly Wanted[]): void =>
    change(to => {
      for (const one of found) add(to, one)
    })
  const deniedOnly = wanted.some(({ trait, not, pattern }) => trait === "verdict" && !not && pattern === "deny")
  return (
    <>
      <search className="bar filter" aria-label="Filter">
        {before}
        <FilterBox decisions={decisions} add={addAll} />
        <button
          type="button"
          aria-pressed={deniedOnly}
          onClick={() => change(to => (deniedOnly ? remove(to, DENIED) : add(to, DENIED)))}
        >
          Denied only
        </button>
        {children}
      </search>
      {wanted.length > 0 && (
        <ul className="chips" aria-label="Filters">
          {wanted.map(one => (
            <li key={`${one.trait}${one.not}${one.pattern}`}>
              <button type="button" onClick={() => change(to => remove(to, one))}>
                {one.trait} {one.not ? "is not" : "is"} {one.pattern} <X className="icon" aria-hidden={true} />
                <span className="visually-hidden"> – remove</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

interface FilterBoxProps {
  readonly decisions: readonly Answer<Decision>[]
  readonly add: (found: readonly Wanted[]) => void
}

function FilterBox({ decisions, add }: FilterBoxProps): ReactNode {
  const id = useId()
  const [text, setText] = useState("")
  const [open, setOpen] = useState(false)
  /** The index of the selected completion; -1 until an arrow key selects one. */
  const [at, setAt] = useState(-1)
  const completions = open ? completionsOf(text, knownValues(decisions)) : []
  const { wanted, unknown } = typedFilters(text)
  const type = (next: string): void => {
    setText(next)
    setOpen(true)
    setAt(-1)
  }
  const take = (completion: string): void => {
    // After a field name the user types the value; a complete filter is added.
    if (completion.endsWith(":")) type(completion)
    else submit(completion)
  }
  const submit = (whole: string): void => {
    const typed = typedFilters(whole)
    if (typed.unknown.length > 0 || typed.wanted.length === 0) return
    add(typed.wanted)
    type("")
    setOpen(false)
  }
  const pressed = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setOpen(true)
      setAt(Math.max(-1, Math.min(completions.length - 1, at + step)))
    } else if (event.key === "Enter") {
      event.preventDefault()
      const chosen = completions[at]
      if (chosen === undefined) submit(text)
      else take(chosen)
    } else if (event.key === "Escape") setOpen(false)
  }
  return (
    <div className="filter-box">
      <Search className="icon" aria-hidden={true} />
      <input
        role="combobox"
        aria-label="Filter traffic"
        aria-expanded={completions.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-describedby={`${id}-hint`}
        placeholder="verdict:deny caller:shop/* -path:/health"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => type(target.value)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={pressed}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Completions" hidden={completions.length === 0}>
        {completions.map((completion, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the search box handles the keys
          <div
            role="option"
            key={completion}
            id={`${id}-${index}`}
            tabIndex={-1}
            aria-selected={index === at}
            onMouseDown={event => event.preventDefault()}
            onClick={() => take(completion)}
          >
            {completion}
          </div>
        ))}
      </div>
      <span id={`${id}-hint`} className="visually-hidden" aria-live="polite">
        {unknown.length > 0
          ? `${unknown.join(", ")} is not a field; use ${TRAITS.join(", ")}`
          : `Press Enter to add ${wanted.length === 1 ? "the filter" : "filters"}`}
      </span>
      {unknown.length > 0 && (
        <p className="complaint" aria-hidden="true">
          <code>{unknown.join(", ")}</code> is not a field. Use {TRAITS.join(", ")}.
        </p>
      )}
    </div>
  )
}
