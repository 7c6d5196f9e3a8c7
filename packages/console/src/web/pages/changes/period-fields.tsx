// SPDX-License-Identifier: Apache-2.0
// Selects the period: a time span until now, or a start and an end. The period is in the address.

import type { ReactNode } from "react"
import { useSearchParameters } from "../../shell/hash-location.js"
import { addressValue, isSpan, localValue, type Period, SPANS, USUAL } from "./period.js"

const MOMENTS = "moments"

export function PeriodFields({ period: { from, to } }: { readonly period: Period }): ReactNode {
  const [search, change] = useSearchParameters()
  const since = search.get("since")
  const isOpen = isSpan(since) && !search.has("until")
  const choose = (value: string): void =>
    change(next => {
      next.delete("until")
      next.set("since", value === MOMENTS ? new Date(from).toISOString() : value)
    })
  const set = (name: "since" | "until", local: string): void =>
    change(next => {
      const value = addressValue(local)
      if (value !== undefined) next.set(name, value)
      else if (name === "until") next.delete(name)
    })
  return (
    <>
      <label>
        Period
        <select value={isOpen ? (since ?? USUAL) : MOMENTS} onChange={({ target }) => choose(target.value)}>
          {SPANS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value={MOMENTS}>Between two moments</option>
        </select>
      </label>
      {!isOpen && (
        <>
          <label>
            From
            <input
              type="datetime-local"
              step="1"
              value={localValue(from)}
              onChange={({ target }) => set("since", target.value)}
            />
          </label>
          <label>
            To (now if empty)
            <input
              type="datetime-local"
              step="1"
              value={to === undefined ? "" : localValue(to)}
              onChange={({ target }) => set("until", target.value)}
            />
          </label>
        </>
      )}
    </>
  )
}
