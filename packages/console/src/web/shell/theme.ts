// SPDX-License-Identifier: Apache-2.0
// The theme: light, dark, or the system's. The browser stores the choice; tokens.css defines the colours.

import { useState } from "react"

const THEMES = ["system", "light", "dark"] as const
export type Theme = (typeof THEMES)[number]
const KEY = "merlon-theme"

export function showTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === "system") delete dataset.theme
  else dataset.theme = theme
}

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return THEMES.find(theme => theme === stored) ?? "system"
}

/** The theme, and a function that switches to the next one. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system"
  return [
    theme,
    () => {
      localStorage.setItem(KEY, next)
      showTheme(next)
      setTheme(next)
    },
  ]
}

const MEDIA = ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]

/** Calls `changed` when the user or the system changes the colours. Returns a function that unsubscribes. */
export function onThemeChange(changed: () => void): () => void {
  const chosen = new MutationObserver(changed)
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
  const queries = MEDIA.map(media => matchMedia(media))
  for (const query of queries) query.addEventListener("change", changed)
  return () => {
    chosen.disconnect()
    for (const query of queries) query.removeEventListener("change", changed)
  }
}
