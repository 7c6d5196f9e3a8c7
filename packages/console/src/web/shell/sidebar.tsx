// SPDX-License-Identifier: Apache-2.0
// The sidebar: every page, in three groups.

import { type ReactNode, useEffect, useRef } from "react"
import { Link } from "wouter"
import { GROUPS, type PageEntry } from "../pages/pages.js"
import { Brand } from "./brand.js"

interface SidebarProps {
  readonly mesh: string
  readonly here: PageEntry | undefined
  /** Whether the drawer is open. Wide windows always show the sidebar. */
  readonly open: boolean
  readonly close: () => void
}

export function Sidebar({ mesh, here, open, close }: SidebarProps): ReactNode {
  const side = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!open) return
    const before = document.activeElement
    side.current?.querySelector("a")?.focus()
    return () => {
      if (side.current?.contains(document.activeElement) === true && before instanceof HTMLElement) before.focus()
    }
  }, [open])
  return (
    <aside
      className={open ? "side open" : "side"}
      ref={side}
      id="pages"
      onKeyDown={({ key }) => key === "Escape" && close()}
    >
      <div>
        <Brand mesh={mesh} />
        <nav aria-label="Pages">
          {GROUPS.map(({ title, pages }) => [
            title !== "" && <span key={title}>{title}</span>,
            ...pages.map(page => (
              <Link
                key={page.path}
                href={page.path}
                title={page.title}
                aria-current={page === here ? "page" : undefined}
                onClick={close}
              >
                <page.Icon className="icon" aria-hidden={true} />
                <span>{page.title}</span>
              </Link>
            )),
          ])}
        </nav>
      </div>
    </aside>
  )
}
