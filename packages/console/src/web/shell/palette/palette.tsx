// SPDX-License-Identifier: Apache-2.0
// The search box of the top bar, opened with `Ctrl K` or `/`: finds pages, workloads, policies and decisions, and answers
// questions in English.

import { CornerDownLeft, Search } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react"
import { useLocation } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAllPolicies, useAnswers, usePods } from "../../api/queries.js"
import { PAGES } from "../../pages/pages.js"
import { callerName } from "../../ui/names.js"
import { type Entry, entriesFor, type Known } from "./entries.js"
import "./palette.css"

export function Palette(): ReactNode {
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const pressed = (event: globalThis.KeyboardEvent): void => {
      const isShortcut = event.key === "k" && (event.ctrlKey || event.metaKey)
      const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !isWriting(event.target)
      if (!isShortcut && !isSlash) return
      event.preventDefault()
      setOpen(true)
    }
    window.addEventListener("keydown", pressed)
    return () => window.removeEventListener("keydown", pressed)
  }, [])
  const close = (): void => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <>
      <button type="button" className="find" ref={button} onClick={() => setOpen(true)}>
        <Search className="icon" aria-hidden={true} />
        <span>Search, or ask “who can reach shop/payment?”</span>
        <kbd>Ctrl K</kbd>
      </button>
      {open && <Dialog close={close} leave={() => setOpen(false)} />}
    </>
  )
}

/** Whether the user is typing into a field: `/` is then a letter of the text. */
function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

interface DialogProps {
  /** Closes the dialog and returns the focus to the control that opened it. */
  readonly close: () => void
  /** Closes the dialog because another page opens. */
  readonly leave: () => void
}

function Dialog({ close, leave }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useId()
  const [, navigate] = useLocation()
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const known = useKnown()
  const entries = entriesFor(text, known)
  const chosen = entries[Math.min(at, entries.length - 1)]
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    leave()
    navigate(entry.href)
  }
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((Math.min(at, entries.length - 1) + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === "Enter") {
      event.preventDefault()
      go(chosen)
    }
  }
  return (
    <dialog className="palette" aria-label="Search" ref={dialog} onClose={close} onKeyDown={pressed}>
      <input
        type="text"
        role="combobox"
        aria-label="Search or ask"
        aria-expanded={entries.length > 0}
        aria-controls={list}
        aria-activedescendant={chosen === undefined ? undefined : `${list}-${entries.indexOf(chosen)}`}
        autoComplete="off"
        placeholder="shop/payment, who can reach shop/payment, what can shop/cart reach, why was 4c2f denied"
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
      />
      <div role="listbox" id={list} aria-label="Results" tabIndex={-1}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above it handles the keys
          <div
            key={`${entry.group} ${entry.href}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={entry === chosen}
            tabIndex={-1}
            onClick={() => go(entry)}
          >
            <span>{entry.label}</span>
            <small>{entry.group}</small>
            {entry === chosen && <CornerDownLeft className="icon" aria-hidden={true} />}
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <p role="status" className="hint">
          No match. Ask “who can reach NAMESPACE/NAME” or “what can NAMESPACE/NAME reach”.
        </p>
      )}
    </dialog>
  )
}

function useKnown(): Known {
  const pods = usePods()
  const kinds = useAllPolicies()
  const workloads = useAnswers<WorkloadReport>("workloads")
  return useMemo(
    () => ({
      pages: PAGES,
      workloads: (pods.data ?? []).map(keyOf),
      policies: kinds.flatMap(({ entry, query }) =>
        (query.data ?? []).map(policy => ({ kind: entry.kind, key: keyOf(policy) })),
      ),
      identities: new Map(
        (workloads.data?.items ?? []).flatMap(workload => [
          [callerName(workload.spec.identity), workload.spec.identity] as const,
          [keyOf(workload), workload.spec.identity] as const,
        ]),
      ),
    }),
    [pods.data, kinds, workloads.data],
  )
}
