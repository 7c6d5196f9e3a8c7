// SPDX-License-Identifier: Apache-2.0
// A table of up to ten thousand decisions that draws only the visible rows. One row has the focus: arrows, Home, End and the
// page keys move it, Enter opens the row, `f` filters by its path and `x` excludes it. It stays in place when rows arrive.

// biome-ignore-all lint/a11y/useSemanticElements: a real table cannot leave out rows outside the viewport

import { useVirtualizer } from "@tanstack/react-virtual"
import { Fragment, type KeyboardEvent, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react"
import type { Answer, Decision } from "../../api/answers.js"
import { Mark, Verdict } from "../../ui/mark.js"
import { useMedia } from "../../ui/media.js"
import { callerName, stageWords } from "../../ui/names.js"
import { Ago, count } from "../../ui/time.js"
import { add } from "./decision-filter.js"

interface DecisionTableProps {
  readonly decisions: readonly Answer<Decision>[]
  readonly pane: RefObject<HTMLDivElement | null>
  readonly chosen: string | undefined
  readonly choose: (decision: Answer<Decision>) => void
  readonly change: (change: (to: URLSearchParams) => void) => void
}

const ROW_PX = 34
/** On phones a row has two lines. */
const NARROW = { window: "(max-width: 639.98px)", rowPx: 56 }
const PAGE_ROWS = 15
const HEADS = ["Time", "Verdict", "Caller", "Workload", "Method", "Path", "Decided by"]

export function DecisionTable({ decisions, pane, chosen, choose, change }: DecisionTableProps): ReactNode {
  /** Undefined while the table follows the newest decision. */
  const [focused, setFocused] = useState<Answer<Decision>>()
  const rowPx = useMedia(NARROW.window) ? NARROW.rowPx : ROW_PX
  const rows = useVirtualizer({
    count: decisions.length,
    getScrollElement: () => pane.current,
    estimateSize: () => rowPx,
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes measured for the former row height are wrong
  useLayoutEffect(() => rows.measure(), [rows, rowPx])
  const at = placeOf(focused, decisions)
  const before = useRef({ row: focused ?? decisions[0], at })
  useLayoutEffect(() => {
    const { row, at: was } = before.current
    const { current } = pane
    // The table follows the newest decision if it is scrolled to the top and no row has the focus.
    const holds = focused === undefined ? (current?.scrollTop ?? 0) > 0 : row === focused
    if (current !== null && holds) current.scrollTop += (placeOf(row, decisions) - was) * rowPx
    before.current = { row: focused ?? decisions[0], at }
  }, [pane, decisions, focused, at, rowPx])
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(decisions.length - 1, to))
    setFocused(decisions[next])
    rows.scrollToIndex(next)
  }
  const follow = (): void => {
    setFocused(undefined)
    rows.scrollToIndex(0)
  }
  const path = decisions[at]?.spec.path ?? ""
  const steps = new Map([
    ["ArrowDown", () => move(at + 1)],
    ["ArrowUp", () => move(at - 1)],
    ["PageDown", () => move(at + PAGE_ROWS)],
    ["PageUp", () => move(at - PAGE_ROWS)],
    ["Home", follow],
    ["End", () => move(decisions.length - 1)],
    ["Enter", () => decisions[at] && choose(decisions[at])],
    ["f", () => change(to => add(to, { trait: "path", not: false, pattern: path }))],
    ["x", () => change(to => add(to, { trait: "path", not: true, pattern: path }))],
  ])
  const pressed = (event: KeyboardEvent): void => {
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps.get(event.key)
    if (step === undefined) return
    event.preventDefault()
    step()
  }
  return (
    <div className="decisions">
      <div
        role="grid"
        aria-label="Decisions"
        aria-rowcount={decisions.length + 1}
        aria-activedescendant={`decision-${at}`}
        tabIndex={0}
        ref={pane}
        onKeyDown={pressed}
        className="scroller"
      >
        <div role="row" aria-rowindex={1} tabIndex={-1} className="heads">
          {HEADS.map(head => (
            <span role="columnheader" tabIndex={-1} key={head}>
              {head}
            </span>
          ))}
        </div>
        <div role="rowgroup" className="space" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const decision = decisions[index]
            if (decision === undefined) return null
            return (
              <Row
                key={index}
                {...{ decision, index, start }}
                focused={index === at}
                open={decision.metadata.name === chosen}
                choose={() => {
                  setFocused(decision)
                  choose(decision)
                }}
              />
            )
          })}
        </div>
      </div>
      <p className="hint keys">
        ↑ ↓ move · Enter opens · f filters by this path · x excludes it
        {at > 0 && ` · ${count(at)} above, Home goes there`}
      </p>
    </div>
  )
}

/** The index of the row; 0 if a filter removed it or newer rows displaced it. */
function placeOf(row: Answer<Decision> | undefined, decisions: readonly Answer<Decision>[]): number {
  if (row === undefined) return 0
  const found = decisions.indexOf(row)
  // After a reconnect the same decision is another object.
  const place = found >= 0 ? found : decisions.findIndex(({ metadata }) => metadata.name === row.metadata.name)
  return Math.max(place, 0)
}

/** The caller's identity, or its address in plaintext. */
function Caller({ peer, source }: Decision): ReactNode {
  if (peer !== undefined) return callerName(peer)
  return (
    <Mark tone="warn">
      {source}
      <span className="visually-hidden"> in plaintext</span>
    </Mark>
  )
}

interface RowProps {
  readonly decision: Answer<Decision>
  readonly index: number
  readonly start: number
  readonly focused: boolean
  readonly open: boolean
  readonly choose: () => void
}

function Row({ decision: { spec }, index, start, focused, open, choose }: RowProps): ReactNode {
  const cells = [
    <Ago key="time" at={spec.time} />,
    <Fragment key="verdict">
      <Verdict of={spec.verdict} /> <small className="status">{spec.status}</small>
    </Fragment>,
    <Caller key="caller" {...spec} />,
    spec.workload,
    spec.method,
    spec.path,
    spec.rule ?? stageWords(spec.stage),
  ]
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid around it handles the keys
    <div
      role="row"
      id={`decision-${index}`}
      aria-rowindex={index + 2}
      aria-selected={open}
      tabIndex={-1}
      className={focused ? "row focused" : "row"}
      style={{ transform: `translateY(${start}px)` }}
      onClick={choose}
    >
      {cells.map((cell, column) => (
        <span role="gridcell" tabIndex={-1} key={HEADS[column]}>
          {cell}
        </span>
      ))}
    </div>
  )
}
