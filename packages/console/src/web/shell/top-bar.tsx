// SPDX-License-Identifier: Apache-2.0
// The top bar: search, the namespace filter, whether the page is up to date, the theme, and the account.

import { useQueryClient } from "@tanstack/react-query"
import { LogOut, Menu, Monitor, Moon, Sun } from "lucide-react"
import type { ReactNode } from "react"
import { type About, signOut } from "../api/client.js"
import { useNamespaces } from "../api/queries.js"
import { useAwaySince } from "./connection.js"
import { NAMESPACE, useSearchParameters } from "./hash-location.js"
import { useNamespace } from "./namespace.js"
import { Palette } from "./palette/palette.js"
import { type Theme, useTheme } from "./theme.js"

const THEME_ICONS = { system: Monitor, light: Sun, dark: Moon } as const satisfies Record<Theme, unknown>

interface TopBarProps {
  readonly session: About
  readonly menuOpen: boolean
  readonly openMenu: () => void
}

export function TopBar({ session: { user }, menuOpen, openMenu }: TopBarProps): ReactNode {
  const queries = useQueryClient()
  const [theme, nextTheme] = useTheme()
  const ThemeIcon = THEME_ICONS[theme]
  const isStale = useAwaySince() !== undefined
  const leave = async (): Promise<void> => {
    await signOut().catch(() => undefined)
    queries.clear()
    window.location.replace("#/")
    window.location.reload()
  }
  return (
    <header className="top">
      <button type="button" className="menu" aria-expanded={menuOpen} aria-controls="pages" onClick={openMenu}>
        <Menu className="icon" aria-hidden={true} />
        <span className="visually-hidden">Open the menu</span>
      </button>
      <Palette />
      <NamespaceFilter />
      <span className="space" />
      <span className={isStale ? "live stale" : "live"}>{isStale ? "Stale" : "Live"}</span>
      <button type="button" onClick={nextTheme} title={`Theme: ${theme}`}>
        <ThemeIcon className="icon" aria-hidden={true} />
        <span className="visually-hidden">Theme: {theme}</span>
      </button>
      <span className="who">
        <span className="name" title={[user?.name, ...(user?.groups ?? [])].join(", ")}>
          {user?.name}
        </span>
        <button type="button" onClick={() => void leave()} title="Sign out">
          <LogOut className="icon" aria-hidden={true} />
          <span className="visually-hidden">Sign out</span>
        </button>
      </span>
    </header>
  )
}

function NamespaceFilter(): ReactNode {
  const namespace = useNamespace()
  const [, change] = useSearchParameters()
  const known = useNamespaces()
  const names = namespace === undefined || known.includes(namespace) ? known : [namespace, ...known]
  return (
    <select
      aria-label="Namespace"
      value={namespace ?? ""}
      onChange={({ target }) =>
        change(to => (target.value === "" ? to.delete(NAMESPACE) : to.set(NAMESPACE, target.value)))
      }
    >
      <option value="">All namespaces</option>
      {names.map(name => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}
